ALTER TYPE "public"."rollout_status" ADD VALUE 'rolling_back';--> statement-breakpoint
DROP INDEX "assignments_organization_id_agent_id_certificate_id_trust_store_type_target_index";--> statement-breakpoint
DROP INDEX "rollouts_open_rotation_index";--> statement-breakpoint
ALTER TABLE "assignments" ADD COLUMN "observed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "assignments" ADD COLUMN "removing_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "assignments" ADD COLUMN "rollback_id" uuid;--> statement-breakpoint
ALTER TABLE "deployment_reports" ADD COLUMN "observed_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE UNIQUE INDEX "assignments_place_index" ON "assignments" USING btree ("organization_id","agent_id","certificate_id","trust_store_type","target") WHERE removing_since is null;--> statement-breakpoint
CREATE INDEX "assignments_rollback_index" ON "assignments" USING btree ("organization_id","rollback_id","agent_id","id") WHERE rollback_id is not null;--> statement-breakpoint
CREATE INDEX "deployment_reports_reported_at_index" ON "deployment_reports" USING btree ("reported_at");--> statement-breakpoint
CREATE UNIQUE INDEX "rollouts_open_rotation_index" ON "rollouts" USING btree ("organization_id","predecessor_id") WHERE status in ('running', 'halted', 'completed');