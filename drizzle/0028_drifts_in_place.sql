ALTER TABLE "inbox_reads" DROP CONSTRAINT "inbox_reads_user_id_users_id_fk";
--> statement-breakpoint
DROP TRIGGER "note_drifts_added" ON "assignments";
--> statement-breakpoint
DROP TRIGGER "note_drifts_removed" ON "assignments";
--> statement-breakpoint
DROP TRIGGER "note_drifts_changed" ON "assignments";
--> statement-breakpoint
DROP FUNCTION "note_drifts"();
--> statement-breakpoint
ALTER TABLE "assignments" ADD COLUMN "is_adrift" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
-- Kept by Postgres itself, a drift costs no trigger, where nothing was reported. drizzle knows no INCLUDE: drifts are counted from this index alone.
-- Reports that are no news change none of its columns, and are still written in place.
CREATE INDEX "assignments_adrift_index" ON "assignments" ("organization_id", "updated_at", "id") INCLUDE ("agent_id", "trust_store_type", "enabled")
WHERE "is_adrift" OR ("enabled" AND "reported_state" IS NULL);
--> statement-breakpoint
UPDATE "assignments" AS a SET "is_adrift" = true FROM "assignment_drifts" AS d
WHERE a.organization_id = d.organization_id AND a.agent_id = d.agent_id AND a.id = d.id AND a.reported_state IS NOT NULL;
--> statement-breakpoint
DROP TABLE "assignment_drifts";
--> statement-breakpoint
-- Looks at the certificate only where all else is as it should be. A plan that a session made while the table was empty reads all of it
-- once it is not. Hence no such plan.
CREATE FUNCTION "note_drift"() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  NEW.is_adrift := NEW.reported_state IS NOT NULL AND drift_reason(NEW.enabled, NEW.reported_state, NULL, NULL, NEW.reported_at, NEW.updated_at) IS NOT NULL;
  IF NEW.reported_state = 'installed' AND NEW.enabled AND NOT NEW.is_adrift AND NEW.reported_fingerprint IS NOT NULL THEN
    NEW.is_adrift := EXISTS (SELECT FROM "certificates"
      WHERE organization_id = NEW.organization_id AND id = NEW.certificate_id AND fingerprint_sha256 <> NEW.reported_fingerprint);
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER "note_drift_added" BEFORE INSERT ON "assignments" FOR EACH ROW WHEN (NEW.reported_state IS NOT NULL) EXECUTE FUNCTION "note_drift"();
--> statement-breakpoint
CREATE TRIGGER "note_drift_changed" BEFORE UPDATE ON "assignments" FOR EACH ROW
WHEN ((NEW.reported_state IS NOT NULL OR OLD.is_adrift)
  AND (OLD.certificate_id, OLD.enabled, OLD.updated_at, OLD.reported_state, OLD.reported_fingerprint, OLD.reported_at < OLD.updated_at)
    IS DISTINCT FROM (NEW.certificate_id, NEW.enabled, NEW.updated_at, NEW.reported_state, NEW.reported_fingerprint, NEW.reported_at < NEW.updated_at))
EXECUTE FUNCTION "note_drift"();
--> statement-breakpoint
CREATE TRIGGER "note_coverage_added" AFTER INSERT ON "assignments" FOR EACH ROW EXECUTE FUNCTION "note_agent_of_assignment"();
--> statement-breakpoint
CREATE FUNCTION "note_agents_of_removed"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "coverage_changes" SELECT DISTINCT organization_id, agent_id FROM "removed";
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "note_coverage_removed" AFTER DELETE ON "assignments" REFERENCING OLD TABLE AS "removed" FOR EACH STATEMENT EXECUTE FUNCTION "note_agents_of_removed"();
