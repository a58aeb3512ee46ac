CREATE TABLE "digest_notices" (
	"user_id" uuid NOT NULL,
	"notice_id" uuid NOT NULL,
	"mail_id" uuid,
	CONSTRAINT "digest_notices_user_id_notice_id_pk" PRIMARY KEY("user_id","notice_id")
);
--> statement-breakpoint
CREATE TABLE "digests" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "notification_preferences" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"time_zone" text DEFAULT 'UTC' NOT NULL,
	"digest_hour" integer DEFAULT 8 NOT NULL,
	"mail" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"version" integer DEFAULT 0 NOT NULL,
	"updated_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "verified_email" text;--> statement-breakpoint
ALTER TABLE "notification_preferences" ADD CONSTRAINT "notification_preferences_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "digest_notices_mail_id_index" ON "digest_notices" USING btree ("mail_id") WHERE mail_id is not null;--> statement-breakpoint
CREATE INDEX "digests_due_at_index" ON "digests" USING btree ("due_at");