-- It held two more columns, from which all deployments were counted.
DROP INDEX "assignments_state_index";
--> statement-breakpoint
CREATE INDEX "assignments_state_index" ON "assignments" USING btree ("organization_id",coalesce(reported_state, 'pending'),"agent_id","id");--> statement-breakpoint
CREATE INDEX "assignments_counted_index" ON "assignments" USING btree ("organization_id","reported_state","trust_store_type","is_adrift","enabled");