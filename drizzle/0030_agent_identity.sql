CREATE TABLE "agent_credentials" (
	"organization_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"last_nonce" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "agent_credentials_organization_id_agent_id_id_pk" PRIMARY KEY("organization_id","agent_id","id")
);
--> statement-breakpoint
CREATE TABLE "join_tokens" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"labels" jsonb NOT NULL,
	"max_uses" integer NOT NULL,
	"uses" integer DEFAULT 0 NOT NULL,
	"agent_id" uuid,
	"token_hash" "bytea" NOT NULL,
	"created_by" jsonb NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "join_tokens_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "signing_keys" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"generation" integer NOT NULL,
	"public_key" text NOT NULL,
	"sealed_private_key" "bytea",
	"endorsement" text,
	"created_by" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "signing_keys_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "agents" ALTER COLUMN "token_hash" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "public_key" text;--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "access_ends_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "credential_misused_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "agent_credentials" ADD CONSTRAINT "agent_credentials_organization_id_agent_id_agents_organization_id_id_fk" FOREIGN KEY ("organization_id","agent_id") REFERENCES "public"."agents"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "join_tokens" ADD CONSTRAINT "join_tokens_organization_id_agent_id_agents_organization_id_id_fk" FOREIGN KEY ("organization_id","agent_id") REFERENCES "public"."agents"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "agent_credentials_token_hash_index" ON "agent_credentials" USING btree ("token_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "join_tokens_token_hash_index" ON "join_tokens" USING btree ("token_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "join_tokens_organization_id_agent_id_index" ON "join_tokens" USING btree ("organization_id","agent_id");--> statement-breakpoint
CREATE UNIQUE INDEX "signing_keys_organization_id_generation_index" ON "signing_keys" USING btree ("organization_id","generation");--> statement-breakpoint
CREATE UNIQUE INDEX "agents_public_key_index" ON "agents" USING btree ("public_key");