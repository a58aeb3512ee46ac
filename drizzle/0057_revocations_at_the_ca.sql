CREATE TYPE "public"."ca_revocation_state" AS ENUM('pending', 'failing', 'told', 'expired');--> statement-breakpoint
CREATE TABLE "ca_revocations" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"certificate_id" uuid NOT NULL,
	"issuer_id" uuid NOT NULL,
	"reason" text NOT NULL,
	"state" "ca_revocation_state" DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp (3) with time zone,
	"failure" text,
	"due_at" timestamp (3) with time zone DEFAULT now(),
	"told_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "ca_revocations_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "rollouts" ALTER COLUMN "halt_share" DROP NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "ca_revocations_certificate_index" ON "ca_revocations" USING btree ("organization_id","certificate_id");--> statement-breakpoint
CREATE INDEX "ca_revocations_due_index" ON "ca_revocations" USING btree ("due_at") WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX "ca_revocations_state_index" ON "ca_revocations" USING btree ("organization_id","state","id");--> statement-breakpoint
CREATE INDEX "ca_revocations_issuer_index" ON "ca_revocations" USING btree ("organization_id","issuer_id") WHERE due_at is not null;--> statement-breakpoint
-- What a CA elsewhere has issued is revoked there too, whichever release writes the revocation. Of a hold it is not told: no CA of ACME knows any.
CREATE FUNCTION "tell_revocation"() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO "ca_revocations" ("organization_id", "id", "certificate_id", "issuer_id", "reason")
  SELECT r.organization_id, new_id(), NEW.id, r.issuer_id, NEW.revocation_reason
  FROM "certificate_requests" AS r LEFT JOIN "issuers" AS i ON i.organization_id = r.organization_id AND i.id = r.issuer_id
  WHERE r.organization_id = NEW.organization_id AND r.certificate_id = NEW.id AND i.kind IS DISTINCT FROM 'internal' AND NEW.not_after > now()
    AND NOT EXISTS (SELECT FROM "issued_certificates" AS own WHERE own.organization_id = NEW.organization_id AND own.certificate_id = NEW.id)
  ORDER BY r.id DESC LIMIT 1
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "tell_revocation" AFTER UPDATE OF "revoked_at", "revocation_reason" ON "certificates" FOR EACH ROW
  WHEN (NEW."revoked_at" IS NOT NULL AND OLD."revoked_at" IS NULL AND NEW."revocation_reason" <> 'certificateHold')
  EXECUTE FUNCTION "tell_revocation"();
--> statement-breakpoint
-- An issuer that was changed may be able to tell its CA what it could not.
CREATE FUNCTION "tell_revocations_again"() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  UPDATE "ca_revocations" SET "due_at" = now() WHERE "organization_id" = NEW.organization_id AND "issuer_id" = NEW.id AND "due_at" IS NOT NULL AND "state" = 'failing';
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "tell_revocations_again" AFTER UPDATE OF "config", "sealed_secrets" ON "issuers" FOR EACH ROW
  WHEN (NEW."config" IS DISTINCT FROM OLD."config" OR NEW."sealed_secrets" IS DISTINCT FROM OLD."sealed_secrets")
  EXECUTE FUNCTION "tell_revocations_again"();
