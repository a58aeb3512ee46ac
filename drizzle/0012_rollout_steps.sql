DROP INDEX "rollouts_running_index";--> statement-breakpoint
ALTER TABLE "rollout_steps" DROP CONSTRAINT "rollout_steps_organization_id_rollout_id_agent_id_assignment_id_pk";--> statement-breakpoint
ALTER TABLE "rollout_steps" ALTER COLUMN "assignment_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "rollout_steps" ALTER COLUMN "is_made" SET DEFAULT false;--> statement-breakpoint
ALTER TABLE "rollout_steps" ADD COLUMN "id" uuid;--> statement-breakpoint
UPDATE "rollout_steps" SET "id" = coalesce("source_id", "agent_id");--> statement-breakpoint
ALTER TABLE "rollout_steps" ALTER COLUMN "id" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "rollout_steps" ADD CONSTRAINT "rollout_steps_organization_id_rollout_id_agent_id_id_pk" PRIMARY KEY("organization_id","rollout_id","agent_id","id");--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "is_busy" boolean DEFAULT true NOT NULL;--> statement-breakpoint
UPDATE "rollouts" SET "is_busy" = ("status" = 'running');--> statement-breakpoint
-- A rollout that was rolled back keeps no steps any more.
DELETE FROM "rollout_steps" AS s USING "rollouts" AS r
WHERE (r.organization_id, r.id) = (s.organization_id, s.rollout_id) AND r.status = 'rolled_back';--> statement-breakpoint
-- Until now the assignments of closed rings were made at the start, disabled; from now on a ring's are made when it opens.
DELETE FROM "assignments" AS a USING "rollout_steps" AS s, "rollouts" AS r
WHERE (s.organization_id, s.agent_id, s.assignment_id) = (a.organization_id, a.agent_id, a.id)
	AND (r.organization_id, r.id) = (s.organization_id, s.rollout_id)
	AND s.ring > r.open_ring AND s.is_made AND NOT a.enabled AND a.certificate_id = r.certificate_id;--> statement-breakpoint
UPDATE "rollout_steps" AS s SET "assignment_id" = NULL, "is_made" = false FROM "rollouts" AS r
WHERE (r.organization_id, r.id) = (s.organization_id, s.rollout_id) AND s.ring > r.open_ring
	AND NOT (s.is_made AND EXISTS (
		SELECT FROM "assignments" AS a WHERE (a.organization_id, a.agent_id, a.id) = (s.organization_id, s.agent_id, s.assignment_id)));--> statement-breakpoint
CREATE INDEX "rollout_steps_waiting_index" ON "rollout_steps" USING btree ("organization_id","rollout_id","ring","agent_id","id") WHERE assignment_id is null;--> statement-breakpoint
CREATE INDEX "rollouts_busy_index" ON "rollouts" USING btree ("organization_id","id") WHERE is_busy;