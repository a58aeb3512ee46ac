CREATE TYPE "public"."certificate_status" AS ENUM('active', 'revoked', 'retired');--> statement-breakpoint
CREATE TYPE "public"."member_role" AS ENUM('ORG_ADMIN', 'ORG_MEMBER');--> statement-breakpoint
CREATE TYPE "public"."member_status" AS ENUM('invited', 'active');--> statement-breakpoint
CREATE TABLE "agents" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"labels" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"host" jsonb,
	"last_seen_at" timestamp (3) with time zone,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "agents_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "assignments" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"certificate_id" uuid NOT NULL,
	"application_id" text NOT NULL,
	"trust_store_type" text NOT NULL,
	"material_type" text NOT NULL,
	"include_private_key" boolean NOT NULL,
	"config" jsonb NOT NULL,
	"target" text NOT NULL,
	"auto_renew" boolean NOT NULL,
	"enabled" boolean NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"reported_state" text,
	"reported_fingerprint" text,
	"reported_message" text,
	"reported_at" timestamp (3) with time zone,
	CONSTRAINT "assignments_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "audit_events" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor" jsonb NOT NULL,
	"action" text NOT NULL,
	"target_type" text NOT NULL,
	"target_id" text NOT NULL,
	"request_id" text,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "audit_events_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "certificates" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"common_name" text NOT NULL,
	"fingerprint_sha256" text NOT NULL,
	"subject" text NOT NULL,
	"issuer" text NOT NULL,
	"subject_hash" text NOT NULL,
	"issuer_hash" text NOT NULL,
	"issuer_id" uuid,
	"not_before" timestamp (3) with time zone NOT NULL,
	"not_after" timestamp (3) with time zone NOT NULL,
	"is_ca" boolean NOT NULL,
	"self_signed" boolean NOT NULL,
	"facts" jsonb NOT NULL,
	"pem" text NOT NULL,
	"sealed_private_key" "bytea",
	"status" "certificate_status" DEFAULT 'active' NOT NULL,
	"revoked_at" timestamp (3) with time zone,
	"revocation_reason" text,
	"retired_at" timestamp (3) with time zone,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"search" "tsvector" NOT NULL,
	CONSTRAINT "certificates_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "members" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"user_id" uuid,
	"email" text NOT NULL,
	"first_name" text,
	"last_name" text,
	"role" "member_role" NOT NULL,
	"status" "member_status" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "members_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "organizations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"seat_limit" integer,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "revoked_tokens" (
	"token_hash" "bytea" PRIMARY KEY NOT NULL,
	"revoked_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"email" text,
	"display_name" text,
	"full_name" text,
	"platform_admin" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "agents" ADD CONSTRAINT "agents_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assignments" ADD CONSTRAINT "assignments_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assignments" ADD CONSTRAINT "assignments_organization_id_agent_id_agents_organization_id_id_fk" FOREIGN KEY ("organization_id","agent_id") REFERENCES "public"."agents"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assignments" ADD CONSTRAINT "assignments_organization_id_certificate_id_certificates_organization_id_id_fk" FOREIGN KEY ("organization_id","certificate_id") REFERENCES "public"."certificates"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_events" ADD CONSTRAINT "audit_events_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "certificates" ADD CONSTRAINT "certificates_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "agents_token_hash_index" ON "agents" USING btree ("token_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "assignments_organization_id_agent_id_certificate_id_trust_store_type_target_index" ON "assignments" USING btree ("organization_id","agent_id","certificate_id","trust_store_type","target");--> statement-breakpoint
CREATE INDEX "assignments_organization_id_certificate_id_index" ON "assignments" USING btree ("organization_id","certificate_id");--> statement-breakpoint
CREATE UNIQUE INDEX "certificates_organization_id_fingerprint_sha256_index" ON "certificates" USING btree ("organization_id","fingerprint_sha256");--> statement-breakpoint
CREATE INDEX "certificates_organization_id_not_after_id_index" ON "certificates" USING btree ("organization_id","not_after","id");--> statement-breakpoint
CREATE INDEX "certificates_organization_id_status_not_after_id_index" ON "certificates" USING btree ("organization_id","status","not_after","id") WHERE status <> 'active';--> statement-breakpoint
CREATE INDEX "certificates_organization_id_subject_hash_index" ON "certificates" USING btree ("organization_id","subject_hash");--> statement-breakpoint
CREATE INDEX "certificates_organization_id_issuer_hash_index" ON "certificates" USING btree ("organization_id","issuer_hash") WHERE issuer_id is null;--> statement-breakpoint
CREATE INDEX "certificates_search_index" ON "certificates" USING gin ("search");--> statement-breakpoint
CREATE UNIQUE INDEX "members_organization_id_email_index" ON "members" USING btree ("organization_id","email");--> statement-breakpoint
CREATE UNIQUE INDEX "members_organization_id_user_id_index" ON "members" USING btree ("organization_id","user_id");--> statement-breakpoint
CREATE INDEX "members_user_id_index" ON "members" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "revoked_tokens_revoked_at_index" ON "revoked_tokens" USING btree ("revoked_at");--> statement-breakpoint
CREATE INDEX "revoked_tokens_expires_at_index" ON "revoked_tokens" USING btree ("expires_at");