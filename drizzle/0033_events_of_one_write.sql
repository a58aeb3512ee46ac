DROP INDEX "audit_events_organization_id_action_id_index";--> statement-breakpoint
DROP INDEX "audit_events_organization_id_target_id_id_index";--> statement-breakpoint
DROP INDEX "audit_events_organization_id_actor_id_index";--> statement-breakpoint
DROP INDEX "audit_events_organization_id_actor_type_index";--> statement-breakpoint
ALTER TABLE "audit_events" ADD COLUMN "is_first" boolean DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX "audit_events_action_index" ON "audit_events" USING btree ("organization_id","action","id") WHERE is_first;--> statement-breakpoint
CREATE INDEX "audit_events_actor_id_index" ON "audit_events" USING btree ("organization_id",(actor->>'id'),"id") WHERE is_first;--> statement-breakpoint
CREATE INDEX "audit_events_actor_type_index" ON "audit_events" USING btree ("organization_id",(actor->>'type'),"id") WHERE is_first;--> statement-breakpoint
CREATE INDEX "audit_events_target_index" ON "audit_events" USING btree ("organization_id",hashtextextended(target_id, 0),"id");--> statement-breakpoint
-- The ids of what one write makes: they have the moment and the counter of an id of new_id() in common, which no other id has, and follow each other.
CREATE FUNCTION "nth_id"("of" uuid, "n" bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (left("of"::text, 24) || lpad(to_hex("n"), 12, '0'))::uuid;
