CREATE TYPE "public"."rollout_status" AS ENUM('running', 'halted', 'completed', 'rolled_back');--> statement-breakpoint
CREATE TABLE "rollout_steps" (
	"organization_id" uuid NOT NULL,
	"rollout_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"assignment_id" uuid NOT NULL,
	"source_id" uuid,
	"ring" integer NOT NULL,
	"is_made" boolean NOT NULL,
	CONSTRAINT "rollout_steps_organization_id_rollout_id_agent_id_assignment_id_pk" PRIMARY KEY("organization_id","rollout_id","agent_id","assignment_id")
);
--> statement-breakpoint
CREATE TABLE "rollouts" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"certificate_id" uuid NOT NULL,
	"predecessor_id" uuid,
	"assignment" jsonb,
	"rings" jsonb NOT NULL,
	"open_ring" integer DEFAULT 1 NOT NULL,
	"halt_share" double precision NOT NULL,
	"success_share" double precision NOT NULL,
	"status" "rollout_status" DEFAULT 'running' NOT NULL,
	"reason" text,
	"resumed_at" timestamp (3) with time zone,
	"skipped" integer DEFAULT 0 NOT NULL,
	"retire_share" double precision,
	"hold_seconds" integer,
	"reached_at" timestamp (3) with time zone,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rollouts_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "rollout_steps" ADD CONSTRAINT "rollout_steps_organization_id_rollout_id_rollouts_organization_id_id_fk" FOREIGN KEY ("organization_id","rollout_id") REFERENCES "public"."rollouts"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rollouts" ADD CONSTRAINT "rollouts_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rollouts" ADD CONSTRAINT "rollouts_organization_id_certificate_id_certificates_organization_id_id_fk" FOREIGN KEY ("organization_id","certificate_id") REFERENCES "public"."certificates"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rollouts" ADD CONSTRAINT "rollouts_organization_id_predecessor_id_certificates_organization_id_id_fk" FOREIGN KEY ("organization_id","predecessor_id") REFERENCES "public"."certificates"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "rollouts_organization_id_predecessor_id_id_index" ON "rollouts" USING btree ("organization_id","predecessor_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "rollouts_open_rotation_index" ON "rollouts" USING btree ("organization_id","predecessor_id") WHERE status <> 'rolled_back';--> statement-breakpoint
CREATE INDEX "rollouts_running_index" ON "rollouts" USING btree ("organization_id","id") WHERE status = 'running';