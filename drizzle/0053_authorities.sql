CREATE TYPE "public"."authority_kind" AS ENUM('root', 'issuing');--> statement-breakpoint
CREATE TYPE "public"."authority_status" AS ENUM('pending', 'active');--> statement-breakpoint
CREATE TABLE "authorities" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"kind" "authority_kind" NOT NULL,
	"status" "authority_status" NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"parent_id" uuid,
	"key_algorithm" text NOT NULL,
	"public_key" text NOT NULL,
	"sealed_private_key" "bytea" NOT NULL,
	"request_pem" text,
	"certificate_id" uuid,
	"chain_pem" text DEFAULT '' NOT NULL,
	"subject" text NOT NULL,
	"path_length" integer,
	"constraints" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"not_before" timestamp (3) with time zone,
	"not_after" timestamp (3) with time zone,
	"profiles" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"public_url" text NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "authorities_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "authority_publications" (
	"organization_id" uuid NOT NULL,
	"authority_id" uuid NOT NULL,
	"crl" "bytea",
	"crl_number" bigint DEFAULT 0 NOT NULL,
	"crl_signed_at" timestamp (3) with time zone,
	"crl_next_update" timestamp (3) with time zone,
	"crl_due_at" timestamp (3) with time zone DEFAULT now(),
	"responder_certificate" "bytea",
	"sealed_responder_key" "bytea",
	"responder_due_at" timestamp (3) with time zone DEFAULT now(),
	CONSTRAINT "authority_publications_organization_id_authority_id_pk" PRIMARY KEY("organization_id","authority_id")
);
--> statement-breakpoint
CREATE TABLE "issued_certificates" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"authority_id" uuid NOT NULL,
	"serial_number" text NOT NULL,
	"certificate_id" uuid NOT NULL,
	"request_id" uuid,
	"not_after" timestamp (3) with time zone NOT NULL,
	"revoked_at" timestamp (3) with time zone,
	"revocation_reason" text,
	"ocsp_answer" "bytea",
	"ocsp_next_update" timestamp (3) with time zone,
	"ocsp_due_at" timestamp (3) with time zone DEFAULT now(),
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "issued_certificates_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE INDEX "authorities_parent_index" ON "authorities" USING btree ("organization_id","parent_id") WHERE parent_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "authority_publications_authority_index" ON "authority_publications" USING btree ("authority_id");--> statement-breakpoint
CREATE INDEX "authority_publications_due_index" ON "authority_publications" USING btree (least(crl_due_at, responder_due_at));--> statement-breakpoint
CREATE UNIQUE INDEX "issued_certificates_serial_index" ON "issued_certificates" USING btree ("authority_id","serial_number");--> statement-breakpoint
CREATE UNIQUE INDEX "issued_certificates_request_index" ON "issued_certificates" USING btree ("organization_id","request_id") WHERE request_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "issued_certificates_certificate_index" ON "issued_certificates" USING btree ("organization_id","certificate_id");--> statement-breakpoint
CREATE INDEX "issued_certificates_revoked_index" ON "issued_certificates" USING btree ("organization_id","authority_id","not_after") WHERE revoked_at is not null;--> statement-breakpoint
CREATE INDEX "issued_certificates_live_index" ON "issued_certificates" USING btree ("organization_id","authority_id","not_after");--> statement-breakpoint
CREATE INDEX "issued_certificates_ocsp_due_index" ON "issued_certificates" USING btree ("ocsp_due_at") WHERE ocsp_due_at is not null;--> statement-breakpoint
-- Whoever relies on certificates hears of a revocation, or of the end of a hold, at once, whichever release writes it.
CREATE FUNCTION "publish_revocation"() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  WITH "changed" AS (
    UPDATE "issued_certificates"
    SET "revoked_at" = NEW."revoked_at", "revocation_reason" = NEW."revocation_reason", "ocsp_answer" = NULL, "ocsp_due_at" = 'epoch'
    WHERE "organization_id" = NEW."organization_id" AND "certificate_id" = NEW."id"
    RETURNING "organization_id", "authority_id")
  UPDATE "authority_publications" AS "published" SET "crl_due_at" = 'epoch' FROM "changed"
  WHERE "published"."organization_id" = "changed"."organization_id" AND "published"."authority_id" = "changed"."authority_id";
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "publish_revocation" AFTER UPDATE OF "revoked_at", "revocation_reason" ON "certificates" FOR EACH ROW
  WHEN (NEW."revoked_at" IS DISTINCT FROM OLD."revoked_at" OR NEW."revocation_reason" IS DISTINCT FROM OLD."revocation_reason")
  EXECUTE FUNCTION "publish_revocation"();
