CREATE TABLE "stamping_levels" (
	"level" integer PRIMARY KEY NOT NULL,
	"trusts_until" timestamp (3) with time zone,
	"stamp" "bytea" NOT NULL
);
--> statement-breakpoint
ALTER TABLE "acme_http_answers" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "agent_credentials" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "join_tokens" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "held_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "connections" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
CREATE INDEX "agents_held_index" ON "agents" USING btree ("organization_id") WHERE held_since is not null;--> statement-breakpoint
CREATE INDEX "api_tokens_held_index" ON "api_tokens" USING btree ("organization_id") WHERE held_since is not null;--> statement-breakpoint
CREATE INDEX "assignment_policies_held_index" ON "assignment_policies" USING btree ("organization_id") WHERE held_since is not null;--> statement-breakpoint
CREATE INDEX "members_held_index" ON "members" USING btree ("organization_id") WHERE held_since is not null;--> statement-breakpoint
CREATE INDEX "rollouts_held_index" ON "rollouts" USING btree ("organization_id") WHERE held_since is not null;