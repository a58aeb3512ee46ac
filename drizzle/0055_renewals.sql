CREATE TYPE "public"."renewal_state" AS ENUM('scheduled', 'ordered', 'failed', 'issued', 'renewed', 'ended');--> statement-breakpoint
CREATE TABLE "renewal_ends" (
	"organization_id" uuid NOT NULL,
	"issuer_id" uuid NOT NULL,
	CONSTRAINT "renewal_ends_organization_id_issuer_id_pk" PRIMARY KEY("organization_id","issuer_id")
);
--> statement-breakpoint
CREATE TABLE "renewal_rests" (
	"organization_id" uuid NOT NULL,
	"issuer_id" uuid NOT NULL,
	"failures" integer NOT NULL,
	"rests_until" timestamp (3) with time zone,
	CONSTRAINT "renewal_rests_organization_id_issuer_id_pk" PRIMARY KEY("organization_id","issuer_id")
);
--> statement-breakpoint
CREATE TABLE "renewals" (
	"organization_id" uuid NOT NULL,
	"certificate_id" uuid NOT NULL,
	"issuer_id" uuid NOT NULL,
	"template_id" uuid NOT NULL,
	"state" "renewal_state" DEFAULT 'scheduled' NOT NULL,
	"is_planned" boolean DEFAULT false NOT NULL,
	"asked_at" timestamp (3) with time zone,
	"window_start" timestamp (3) with time zone,
	"window_end" timestamp (3) with time zone,
	"explanation_url" text,
	"ask_window_at" timestamp (3) with time zone,
	"renew_at" timestamp (3) with time zone NOT NULL,
	"late_at" timestamp (3) with time zone NOT NULL,
	"late_since" timestamp (3) with time zone,
	"retry_at" timestamp (3) with time zone,
	"look_at" timestamp (3) with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"failure" text,
	"request_id" uuid,
	"successor_id" uuid,
	"retire_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "renewals_organization_id_certificate_id_pk" PRIMARY KEY("organization_id","certificate_id")
);
--> statement-breakpoint
CREATE INDEX "renewals_look_index" ON "renewals" USING btree ("look_at") WHERE look_at is not null and state <> 'issued';--> statement-breakpoint
CREATE INDEX "renewals_look_of_issuer_index" ON "renewals" USING btree ("organization_id","issuer_id","look_at") WHERE look_at is not null and state <> 'issued';--> statement-breakpoint
CREATE INDEX "renewals_issued_index" ON "renewals" USING btree ("look_at") WHERE state = 'issued';--> statement-breakpoint
CREATE INDEX "renewals_ask_window_index" ON "renewals" USING btree ("ask_window_at") WHERE ask_window_at is not null;--> statement-breakpoint
CREATE INDEX "renewals_open_index" ON "renewals" USING btree ("organization_id","renew_at","certificate_id") WHERE state in ('scheduled', 'ordered', 'failed', 'issued');--> statement-breakpoint
CREATE INDEX "renewals_late_index" ON "renewals" USING btree ("organization_id","renew_at","certificate_id") WHERE late_since is not null;--> statement-breakpoint
CREATE INDEX "renewals_state_index" ON "renewals" USING btree ("organization_id","state","renew_at","certificate_id");--> statement-breakpoint
CREATE INDEX "renewals_issuer_index" ON "renewals" USING btree ("organization_id","issuer_id","renew_at","certificate_id");--> statement-breakpoint
CREATE UNIQUE INDEX "certificate_requests_renewal_index" ON "certificate_requests" USING btree ("organization_id","replaces") WHERE replaces is not null and ended_at is null;--> statement-breakpoint
-- A request that has ended: what it was to renew is looked at, and what it brought is looked after. The job plans it at once; until then it is about right.
CREATE FUNCTION "look_after"() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  UPDATE "renewals" SET "look_at" = now() WHERE "organization_id" = NEW.organization_id AND "certificate_id" = NEW.replaces AND "request_id" = NEW.id AND "state" = 'ordered';
  IF NEW.status = 'issued' AND NEW.auto_renew THEN
    INSERT INTO "renewals" ("organization_id", "certificate_id", "issuer_id", "template_id", "asked_at", "renew_at", "late_at", "look_at", "ask_window_at")
    SELECT c.organization_id, c.id, NEW.issuer_id, NEW.id, NEW.renew_at, coalesce(NEW.renew_at, c.not_before + (c.not_after - c.not_before) * 2 / 3),
      c.not_before + (c.not_after - c.not_before) * 5 / 6, now(), CASE WHEN i.kind = 'acme' THEN now() END
    FROM "certificates" AS c JOIN "issuers" AS i ON i.organization_id = c.organization_id AND i.id = NEW.issuer_id
    WHERE c.organization_id = NEW.organization_id AND c.id = NEW.certificate_id
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "look_after" AFTER UPDATE OF "ended_at" ON "certificate_requests" FOR EACH ROW
WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION "look_after"();
--> statement-breakpoint
-- What is revoked is renewed at once, what is retired never.
CREATE FUNCTION "look_at_renewal"() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  UPDATE "renewals" SET "look_at" = now() WHERE "organization_id" = NEW.organization_id AND "certificate_id" = NEW.id AND "state" NOT IN ('issued', 'renewed');
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "look_at_renewal" AFTER UPDATE OF "status" ON "certificates" FOR EACH ROW
WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION "look_at_renewal"();
--> statement-breakpoint
CREATE FUNCTION "end_renewals"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "renewal_ends" ("organization_id", "issuer_id") VALUES (OLD.organization_id, OLD.id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "end_renewals" AFTER DELETE ON "issuers" FOR EACH ROW EXECUTE FUNCTION "end_renewals"();
