DROP INDEX "rollouts_running_index";--> statement-breakpoint
ALTER TABLE "rollout_steps" DROP CONSTRAINT "rollout_steps_organization_id_rollout_id_agent_id_assignment_id_pk";--> statement-breakpoint
ALTER TABLE "rollout_steps" ALTER COLUMN "assignment_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "rollout_steps" ALTER COLUMN "is_made" SET DEFAULT false;--> statement-breakpoint
ALTER TABLE "rollout_steps" ADD COLUMN "id" uuid NOT NULL;--> statement-breakpoint
ALTER TABLE "rollout_steps" ADD CONSTRAINT "rollout_steps_organization_id_rollout_id_agent_id_id_pk" PRIMARY KEY("organization_id","rollout_id","agent_id","id");--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "is_busy" boolean DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX "rollout_steps_waiting_index" ON "rollout_steps" USING btree ("organization_id","rollout_id","ring","agent_id","id") WHERE assignment_id is null;--> statement-breakpoint
CREATE INDEX "rollouts_busy_index" ON "rollouts" USING btree ("organization_id","id") WHERE is_busy;