CREATE TYPE "public"."alert_state" AS ENUM('open', 'snoozed', 'acknowledged', 'cleared');--> statement-breakpoint
CREATE TYPE "public"."notification_severity" AS ENUM('info', 'warning', 'critical');--> statement-breakpoint
CREATE TABLE "alerts" (
	"organization_id" uuid NOT NULL,
	"condition" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"state" "alert_state" DEFAULT 'open' NOT NULL,
	"until" timestamp (3) with time zone,
	"reason" text,
	"changed_by" uuid,
	"opened_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "alerts_organization_id_condition_subject_id_pk" PRIMARY KEY("organization_id","condition","subject_id")
);
--> statement-breakpoint
CREATE TABLE "notification_events" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"is_end" boolean DEFAULT false NOT NULL,
	"subject_id" uuid NOT NULL,
	"user_id" uuid,
	"role" "member_role",
	"data" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"told_at" timestamp (3) with time zone,
	"notification_id" uuid,
	CONSTRAINT "notification_events_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "notifications" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"severity" "notification_severity" NOT NULL,
	"title" text NOT NULL,
	"message" text NOT NULL,
	"data" jsonb NOT NULL,
	"link" text,
	"subject_id" uuid,
	"subjects" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "notifications_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "notices" ADD COLUMN "notification_id" uuid;--> statement-breakpoint
ALTER TABLE "notices" ADD COLUMN "state" "alert_state";--> statement-breakpoint
CREATE INDEX "alerts_snoozed_index" ON "alerts" USING btree ("until") WHERE state = 'snoozed';--> statement-breakpoint
CREATE INDEX "notification_events_untold_index" ON "notification_events" USING btree ("organization_id","kind","id") WHERE told_at is null;--> statement-breakpoint
CREATE INDEX "notification_events_organization_id_subject_id_index" ON "notification_events" USING btree ("organization_id","subject_id");--> statement-breakpoint
CREATE INDEX "notification_events_organization_id_notification_id_index" ON "notification_events" USING btree ("organization_id","notification_id");--> statement-breakpoint
CREATE INDEX "notices_state_index" ON "notices" USING btree ("notification_id") WHERE state <> 'cleared';