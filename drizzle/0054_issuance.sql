CREATE TYPE "public"."key_location" AS ENUM('agent', 'server', 'csr');--> statement-breakpoint
CREATE TYPE "public"."certificate_request_approval" AS ENUM('none', 'awaited', 'given', 'refused');--> statement-breakpoint
CREATE TYPE "public"."certificate_request_status" AS ENUM('pending', 'validating', 'issuing', 'issued', 'failed', 'cancelled');--> statement-breakpoint
CREATE TABLE "certificate_request_steps" (
	"organization_id" uuid NOT NULL,
	"request_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"status" "certificate_request_status" NOT NULL,
	"reason" text,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "certificate_request_steps_organization_id_request_id_id_pk" PRIMARY KEY("organization_id","request_id","id")
);
--> statement-breakpoint
CREATE TABLE "certificate_requests" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"issuer_id" uuid NOT NULL,
	"names" jsonb NOT NULL,
	"names_hash" text NOT NULL,
	"key_algorithm" text NOT NULL,
	"key_location" "key_location" NOT NULL,
	"csr" "bytea",
	"sealed_private_key" "bytea",
	"agent_id" uuid,
	"deployment" jsonb,
	"profile" text,
	"auto_renew" boolean NOT NULL,
	"renew_at" timestamp (3) with time zone,
	"replaces" uuid,
	"status" "certificate_request_status" DEFAULT 'pending' NOT NULL,
	"approval" "certificate_request_approval" DEFAULT 'none' NOT NULL,
	"reason" text,
	"certificate_id" uuid,
	"progress" jsonb,
	"attempts" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp (3) with time zone,
	"due_at" timestamp (3) with time zone,
	"claimed_until" timestamp (3) with time zone,
	"created_by" jsonb NOT NULL,
	"approved_by" jsonb,
	"ended_at" timestamp (3) with time zone,
	"search" "tsvector" NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "certificate_requests_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "issuance_policies" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"allowed_domains" jsonb,
	"allowed_addresses" jsonb,
	"allowed_key_algorithms" jsonb,
	"allowed_key_locations" jsonb,
	"needs_approval" boolean DEFAULT false NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "issuers" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"config" jsonb NOT NULL,
	"sealed_secrets" "bytea",
	"secret_names" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"account" jsonb,
	"failures" integer DEFAULT 0 NOT NULL,
	"retry_at" timestamp (3) with time zone,
	"due_at" timestamp (3) with time zone,
	"tested_at" timestamp (3) with time zone,
	"test_outcome" text,
	"test_message" text,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "issuers_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "certificate_requests_open_index" ON "certificate_requests" USING btree ("organization_id","issuer_id","names_hash",coalesce(agent_id, '00000000-0000-0000-0000-000000000000')) WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX "certificate_requests_due_index" ON "certificate_requests" USING btree ("organization_id","issuer_id","due_at") WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX "certificate_requests_status_index" ON "certificate_requests" USING btree ("organization_id","status","id") WHERE status <> 'issued';--> statement-breakpoint
CREATE INDEX "certificate_requests_organization_id_issuer_id_id_index" ON "certificate_requests" USING btree ("organization_id","issuer_id","id");--> statement-breakpoint
CREATE INDEX "certificate_requests_agent_index" ON "certificate_requests" USING btree ("organization_id","agent_id") WHERE agent_id is not null and ended_at is null;--> statement-breakpoint
CREATE INDEX "certificate_requests_certificate_index" ON "certificate_requests" USING btree ("organization_id","certificate_id") WHERE certificate_id is not null;--> statement-breakpoint
CREATE INDEX "certificate_requests_search_index" ON "certificate_requests" USING gin ("search");--> statement-breakpoint
CREATE UNIQUE INDEX "issuers_organization_id_name_index" ON "issuers" USING btree ("organization_id","name");--> statement-breakpoint
CREATE INDEX "issuers_due_index" ON "issuers" USING btree ("due_at") WHERE due_at is not null;