CREATE TYPE "public"."invitation_mail" AS ENUM('pending', 'sent', 'failed');--> statement-breakpoint
CREATE TABLE "mails" (
	"id" uuid PRIMARY KEY NOT NULL,
	"cause" jsonb NOT NULL,
	"sealed_content" "bytea" NOT NULL,
	"last_failure" text,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"queued_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "invitation_mail_id" uuid;--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "invitation_mail" "invitation_mail";--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "invitation_mail_failure" text;