CREATE TABLE "platform_audit_events" (
	"id" uuid NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor" jsonb NOT NULL,
	"action" text NOT NULL,
	"target_type" text NOT NULL,
	"target_id" text NOT NULL,
	"request_id" text,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "platform_audit_events_id_pk" PRIMARY KEY("id")
);
--> statement-breakpoint
CREATE INDEX "platform_audit_events_action_id_index" ON "platform_audit_events" USING btree ("action","id");--> statement-breakpoint
CREATE INDEX "platform_audit_events_target_id_id_index" ON "platform_audit_events" USING btree ("target_id","id");--> statement-breakpoint
CREATE INDEX "platform_audit_events_actor_id_index" ON "platform_audit_events" USING btree ((actor->>'id'),"id");--> statement-breakpoint
CREATE INDEX "platform_audit_events_actor_type_index" ON "platform_audit_events" USING btree ((actor->>'type'),"id");--> statement-breakpoint
CREATE INDEX "audit_events_organization_id_action_id_index" ON "audit_events" USING btree ("organization_id","action","id");--> statement-breakpoint
CREATE INDEX "audit_events_organization_id_target_id_id_index" ON "audit_events" USING btree ("organization_id","target_id","id");--> statement-breakpoint
CREATE INDEX "audit_events_organization_id_actor_id_index" ON "audit_events" USING btree ("organization_id",(actor->>'id'),"id");--> statement-breakpoint
CREATE INDEX "audit_events_organization_id_actor_type_index" ON "audit_events" USING btree ("organization_id",(actor->>'type'),"id");