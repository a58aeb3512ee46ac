CREATE TABLE "audit_tail" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor" jsonb NOT NULL,
	"action" text NOT NULL,
	"target_type" text NOT NULL,
	"target_id" text NOT NULL,
	"request_id" text,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"is_first" boolean DEFAULT true NOT NULL
);
--> statement-breakpoint
-- What reads "audit_events", of this release or the one before, reads the tail with it, in the same snapshot.
ALTER TABLE "audit_tail" INHERIT "audit_events";--> statement-breakpoint
-- Without it, nothing can be moved out of the tail in a database that is replicated logically: it has no key.
ALTER TABLE "audit_tail" REPLICA IDENTITY FULL;
