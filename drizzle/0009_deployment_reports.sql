CREATE TABLE "deployment_reports" (
	"organization_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"assignment_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"state" text NOT NULL,
	"observed_fingerprint" text,
	"message" text,
	"reported_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "deployment_reports_organization_id_agent_id_assignment_id_id_pk" PRIMARY KEY("organization_id","agent_id","assignment_id","id")
);
--> statement-breakpoint
ALTER TABLE "deployment_reports" ADD CONSTRAINT "deployment_reports_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployment_reports" ADD CONSTRAINT "deployment_reports_organization_id_agent_id_assignment_id_assignments_organization_id_agent_id_id_fk" FOREIGN KEY ("organization_id","agent_id","assignment_id") REFERENCES "public"."assignments"("organization_id","agent_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
-- What was reported before there was a history is its beginning.
INSERT INTO "deployment_reports" ("organization_id", "agent_id", "assignment_id", "id", "state", "observed_fingerprint", "message", "reported_at")
SELECT "organization_id", "agent_id", "id", "new_id"(), "reported_state", "reported_fingerprint", "reported_message", coalesce("reported_at", now())
FROM "assignments" WHERE "reported_state" IS NOT NULL;
