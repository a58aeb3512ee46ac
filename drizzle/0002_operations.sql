CREATE TYPE "public"."control_status" AS ENUM('not_started', 'in_progress', 'implemented', 'not_applicable');--> statement-breakpoint
CREATE TYPE "public"."document_status" AS ENUM('uploaded', 'indexing', 'ready', 'failed');--> statement-breakpoint
CREATE TABLE "connections" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"config" jsonb NOT NULL,
	"sealed_secrets" "bytea",
	"secret_names" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"tested_at" timestamp (3) with time zone,
	"test_outcome" text,
	"test_message" text,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "connections_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "widgets" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"dashboard" text NOT NULL,
	"kind" text NOT NULL,
	"title" text NOT NULL,
	"settings" jsonb NOT NULL,
	"x" integer NOT NULL,
	"y" integer NOT NULL,
	"width" integer NOT NULL,
	"height" integer NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "widgets_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "ai_systems" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"key" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_sample_at" timestamp (3) with time zone,
	CONSTRAINT "ai_systems_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "control_changes" (
	"organization_id" uuid NOT NULL,
	"control_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"status" "control_status" NOT NULL,
	"note" text,
	"evidence" jsonb NOT NULL,
	"owner_id" uuid,
	"due_date" date,
	"actor" jsonb NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "control_changes_organization_id_control_id_id_pk" PRIMARY KEY("organization_id","control_id","id")
);
--> statement-breakpoint
CREATE TABLE "controls" (
	"organization_id" uuid NOT NULL,
	"control_id" uuid NOT NULL,
	"framework" text NOT NULL,
	"status" "control_status" NOT NULL,
	"note" text,
	"evidence" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"owner_id" uuid,
	"due_date" date,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "controls_organization_id_control_id_pk" PRIMARY KEY("organization_id","control_id")
);
--> statement-breakpoint
CREATE TABLE "ingest_keys" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"sealed_key" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "ingest_keys_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"organization_id" uuid NOT NULL,
	"webhook_id" text NOT NULL,
	"accepted" integer NOT NULL,
	"received_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhook_deliveries_organization_id_webhook_id_pk" PRIMARY KEY("organization_id","webhook_id")
);
--> statement-breakpoint
CREATE TABLE "document_chunks" (
	"organization_id" uuid NOT NULL,
	"document_id" uuid NOT NULL,
	"generation" integer NOT NULL,
	"chunk_index" integer NOT NULL,
	"text" text NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (to_tsvector('english', text) || array_to_tsvector(array[organization_id::text])) STORED NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "document_chunks_organization_id_document_id_generation_chunk_index_pk" PRIMARY KEY("organization_id","document_id","generation","chunk_index")
);
--> statement-breakpoint
CREATE TABLE "documents" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"title" text NOT NULL,
	"file_name" text NOT NULL,
	"media_type" text NOT NULL,
	"size" bigint NOT NULL,
	"sha256" text NOT NULL,
	"object_key" text NOT NULL,
	"status" "document_status" DEFAULT 'uploaded' NOT NULL,
	"failure" text,
	"generation" integer DEFAULT 0 NOT NULL,
	"next_generation" integer,
	"job_id" uuid,
	"chunk_count" integer DEFAULT 0 NOT NULL,
	"indexed_at" timestamp (3) with time zone,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "documents_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "inboxes" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"total" integer DEFAULT 0 NOT NULL,
	"unread" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "notices" (
	"user_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"id" uuid NOT NULL,
	"organization_id" uuid,
	"kind" text NOT NULL,
	"title" text NOT NULL,
	"message" text NOT NULL,
	"data" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"example" boolean DEFAULT false NOT NULL,
	"read_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "notices_user_id_position_pk" PRIMARY KEY("user_id","position")
);
--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "invitation_token_hash" "bytea";--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "invitation_expires_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "connections" ADD CONSTRAINT "connections_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "widgets" ADD CONSTRAINT "widgets_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ai_systems" ADD CONSTRAINT "ai_systems_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "control_changes" ADD CONSTRAINT "control_changes_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "controls" ADD CONSTRAINT "controls_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ingest_keys" ADD CONSTRAINT "ingest_keys_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "document_chunks" ADD CONSTRAINT "document_chunks_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "document_chunks" ADD CONSTRAINT "document_chunks_organization_id_document_id_documents_organization_id_id_fk" FOREIGN KEY ("organization_id","document_id") REFERENCES "public"."documents"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "documents" ADD CONSTRAINT "documents_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "inboxes" ADD CONSTRAINT "inboxes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notices" ADD CONSTRAINT "notices_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "connections_organization_id_name_index" ON "connections" USING btree ("organization_id","name");--> statement-breakpoint
CREATE INDEX "widgets_organization_id_dashboard_y_index" ON "widgets" USING btree ("organization_id","dashboard","y");--> statement-breakpoint
CREATE UNIQUE INDEX "ai_systems_organization_id_key_index" ON "ai_systems" USING btree ("organization_id","key");--> statement-breakpoint
CREATE INDEX "controls_organization_id_framework_index" ON "controls" USING btree ("organization_id","framework");--> statement-breakpoint
CREATE UNIQUE INDEX "ingest_keys_key_hash_index" ON "ingest_keys" USING btree ("key_hash");--> statement-breakpoint
CREATE INDEX "ingest_keys_live_index" ON "ingest_keys" USING btree ("organization_id") WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_received_at_index" ON "webhook_deliveries" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "document_chunks_search_index" ON "document_chunks" USING gin ("search");--> statement-breakpoint
CREATE UNIQUE INDEX "documents_id_index" ON "documents" USING btree ("id");--> statement-breakpoint
CREATE UNIQUE INDEX "notices_user_id_id_index" ON "notices" USING btree ("user_id","id");--> statement-breakpoint
CREATE INDEX "notices_unread_index" ON "notices" USING btree ("user_id","position") WHERE read_at is null;--> statement-breakpoint
CREATE INDEX "notices_examples_index" ON "notices" USING btree ("user_id","created_at") WHERE example;--> statement-breakpoint
CREATE UNIQUE INDEX "members_invitation_token_hash_index" ON "members" USING btree ("invitation_token_hash");