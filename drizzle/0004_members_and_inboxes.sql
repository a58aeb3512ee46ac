DROP INDEX "notices_examples_index";--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "version" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "inboxes" ADD COLUMN "read_up_to" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "inboxes" ADD COLUMN "read_up_to_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "inboxes" ADD COLUMN "recent_examples" timestamp (3) with time zone[] DEFAULT '{}' NOT NULL;