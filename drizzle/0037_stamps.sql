CREATE TABLE "stamping" (
	"is_only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"trusts_until" timestamp (3) with time zone,
	"stamp" "bytea" NOT NULL
);
--> statement-breakpoint
ALTER TABLE "assignments" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "assignments" ADD COLUMN "removal_stamp" "bytea";--> statement-breakpoint
ALTER TABLE "assignments" ADD COLUMN "held_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "assignment_policies" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "assignment_policies" ADD COLUMN "held_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "certificates" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "certificates" ADD COLUMN "status_stamp" "bytea";--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "held_since" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "assignments_held_index" ON "assignments" USING btree ("organization_id") WHERE held_since is not null;