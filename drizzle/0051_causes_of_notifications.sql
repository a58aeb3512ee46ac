CREATE TABLE "metric_thresholds" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"system" text NOT NULL,
	"metric" text NOT NULL,
	"min" double precision,
	"max" double precision,
	"judged_at" timestamp (6) with time zone,
	"is_outside" boolean DEFAULT false NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "metric_thresholds_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "agent_watch" (
	"organization_id" uuid NOT NULL,
	"agent_id" uuid NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "agent_watch_organization_id_agent_id_pk" PRIMARY KEY("organization_id","agent_id")
);
--> statement-breakpoint
CREATE TABLE "control_evidence" (
	"organization_id" uuid NOT NULL,
	"certificate_id" uuid NOT NULL,
	"control_id" uuid NOT NULL,
	"due_at" timestamp (3) with time zone,
	"broken_since" timestamp (3) with time zone,
	CONSTRAINT "control_evidence_organization_id_control_id_certificate_id_pk" PRIMARY KEY("organization_id","control_id","certificate_id")
);
--> statement-breakpoint
CREATE TABLE "credential_watch" (
	"organization_id" uuid NOT NULL,
	"subject_id" uuid NOT NULL,
	"credential" text NOT NULL,
	"looked_at" timestamp (3) with time zone NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "credential_watch_organization_id_subject_id_pk" PRIMARY KEY("organization_id","subject_id")
);
--> statement-breakpoint
-- Before anything is locked, because there may be many.
INSERT INTO "agent_watch" ("organization_id", "agent_id", "due_at")
SELECT "organization_id", "id", "last_seen_at" + interval '24 hours' FROM "agents" WHERE "last_seen_at" IS NOT NULL;
--> statement-breakpoint
ALTER TABLE "controls" ADD COLUMN "look_on" date;
--> statement-breakpoint
ALTER TABLE "documents" ADD COLUMN "uploaded_by" uuid;
--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "created_by" uuid;
--> statement-breakpoint
CREATE UNIQUE INDEX "metric_thresholds_organization_id_system_metric_index" ON "metric_thresholds" USING btree ("organization_id","system","metric");
--> statement-breakpoint
CREATE INDEX "agent_watch_due_at_index" ON "agent_watch" USING btree ("due_at");
--> statement-breakpoint
CREATE INDEX "control_evidence_organization_id_certificate_id_index" ON "control_evidence" USING btree ("organization_id","certificate_id");
--> statement-breakpoint
CREATE INDEX "control_evidence_due_at_index" ON "control_evidence" USING btree ("due_at");
--> statement-breakpoint
CREATE INDEX "credential_watch_due_at_index" ON "credential_watch" USING btree ("due_at");
--> statement-breakpoint
CREATE INDEX "controls_look_index" ON "controls" USING btree ("look_on") WHERE look_on is not null;
--> statement-breakpoint
CREATE INDEX "alerts_full_index" ON "alerts" USING btree ("organization_id") WHERE condition = 'seat limit' and state <> 'cleared';
--> statement-breakpoint
-- Writes down that a state has ended, where it stands or is still to be told.
CREATE FUNCTION "end_state"("of_organization" uuid, "of_subject" uuid, "of_kind" text, "of_condition" text) RETURNS void LANGUAGE sql SET enable_seqscan = off AS $$
  INSERT INTO "notification_events" ("organization_id", "id", "kind", "subject_id", "is_end")
  SELECT of_organization, new_id(), of_kind, of_subject, true
  WHERE EXISTS (SELECT FROM "alerts" AS a WHERE a.organization_id = of_organization AND a.condition = of_condition AND a.subject_id = of_subject AND a.state <> 'cleared')
    OR EXISTS (SELECT FROM "notification_events" AS e WHERE e.organization_id = of_organization AND e.subject_id = of_subject AND e.told_at IS NULL)
$$;
--> statement-breakpoint
-- Ends what stands of a row that is deleted, however it is; called with kinds, each followed by its condition.
CREATE FUNCTION "end_states"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  FOR n IN 0 .. TG_NARGS - 2 BY 2 LOOP
    PERFORM end_state(OLD.organization_id, OLD.id, TG_ARGV[n], TG_ARGV[n + 1]);
  END LOOP;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "end_states" AFTER DELETE ON "assignments" FOR EACH ROW WHEN (OLD.reported_state IN ('failed', 'refused'))
EXECUTE FUNCTION "end_states"('assignment_failed', 'assignment failure', 'assignment_refused', 'assignment refusal');
--> statement-breakpoint
CREATE TRIGGER "end_states" AFTER DELETE ON "agents" FOR EACH ROW
EXECUTE FUNCTION "end_states"('agent_silent', 'agent silence', 'credential_expiring', 'credential expiry');
--> statement-breakpoint
CREATE TRIGGER "end_states" AFTER DELETE ON "documents" FOR EACH ROW EXECUTE FUNCTION "end_states"('document_failed', 'document failure');
--> statement-breakpoint
CREATE TRIGGER "end_states" AFTER DELETE ON "connections" FOR EACH ROW EXECUTE FUNCTION "end_states"('connection_failed', 'connection failure');
--> statement-breakpoint
CREATE TRIGGER "end_states" AFTER DELETE ON "api_tokens" FOR EACH ROW EXECUTE FUNCTION "end_states"('credential_expiring', 'credential expiry');
--> statement-breakpoint
CREATE TRIGGER "end_states" AFTER DELETE ON "metric_thresholds" FOR EACH ROW EXECUTE FUNCTION "end_states"('metric_threshold', 'metric threshold');
--> statement-breakpoint
-- An agent that is seen is watched, and no longer silent.
CREATE FUNCTION "watch_agent"() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO "agent_watch" ("organization_id", "agent_id", "due_at") VALUES (NEW.organization_id, NEW.id, NEW.last_seen_at + interval '24 hours')
  ON CONFLICT ("organization_id", "agent_id") DO UPDATE SET "due_at" = excluded.due_at;
  PERFORM end_state(NEW.organization_id, NEW.id, 'agent_silent', 'agent silence');
  RETURN NULL;
END $$;
--> statement-breakpoint
-- One is silent after a day. Half of that leaves room for the clocks of several servers.
CREATE TRIGGER "watch_agent" AFTER UPDATE OF "last_seen_at" ON "agents" FOR EACH ROW
WHEN (NEW.last_seen_at IS NOT NULL AND (OLD.last_seen_at IS NULL OR OLD.last_seen_at < NEW.last_seen_at - interval '12 hours'))
EXECUTE FUNCTION "watch_agent"();
--> statement-breakpoint
INSERT INTO "agent_watch" ("organization_id", "agent_id", "due_at")
SELECT "organization_id", "id", "last_seen_at" + interval '24 hours' FROM "agents" WHERE "last_seen_at" IS NOT NULL ON CONFLICT DO NOTHING;
--> statement-breakpoint
CREATE FUNCTION "watch_due_date"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.due_date IS NOT DISTINCT FROM OLD.due_date
    AND (NEW.status IN ('not_started', 'in_progress')) = (OLD.status IN ('not_started', 'in_progress')) THEN
    RETURN NEW;
  END IF;
  NEW.look_on := CASE WHEN NEW.status IN ('not_started', 'in_progress') THEN NEW.due_date - 7 END;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER "watch_due_date" BEFORE INSERT OR UPDATE OF "status", "due_date" ON "controls" FOR EACH ROW EXECUTE FUNCTION "watch_due_date"();
--> statement-breakpoint
UPDATE "controls" SET "look_on" = "due_date" - 7 WHERE "status" IN ('not_started', 'in_progress') AND "due_date" IS NOT NULL;
--> statement-breakpoint
CREATE FUNCTION "watch_evidence"() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM "control_evidence" AS e WHERE e.organization_id = NEW.organization_id AND e.control_id = NEW.control_id
    AND NOT EXISTS (SELECT FROM jsonb_array_elements(NEW.evidence) AS entry WHERE (entry->>'certificateId')::uuid = e.certificate_id);
  INSERT INTO "control_evidence" ("organization_id", "certificate_id", "control_id", "due_at", "broken_since")
  SELECT DISTINCT c.organization_id, c.id, NEW.control_id, CASE WHEN c.status = 'active' AND c.not_after > now() THEN c.not_after END,
    CASE WHEN c.status <> 'active' OR c.not_after <= now() THEN now() END
  FROM jsonb_array_elements(NEW.evidence) AS entry
  JOIN "certificates" AS c ON c.organization_id = NEW.organization_id AND c.id = (entry->>'certificateId')::uuid
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "watch_evidence" AFTER INSERT OR UPDATE OF "evidence" ON "controls" FOR EACH ROW EXECUTE FUNCTION "watch_evidence"();
--> statement-breakpoint
UPDATE "controls" SET "evidence" = "evidence" WHERE "evidence" <> '[]';
--> statement-breakpoint
CREATE FUNCTION "watch_status_of_evidence"() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  UPDATE "control_evidence" SET "due_at" = now() WHERE "organization_id" = NEW.organization_id AND "certificate_id" = NEW.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "watch_status_of_evidence" AFTER UPDATE OF "status" ON "certificates" FOR EACH ROW
WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION "watch_status_of_evidence"();
--> statement-breakpoint
CREATE FUNCTION "watch_api_token"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "credential_watch" ("organization_id", "subject_id", "credential", "looked_at", "due_at")
  VALUES (NEW.organization_id, NEW.id, 'API token', now(), now());
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "watch_api_token" AFTER INSERT ON "api_tokens" FOR EACH ROW WHEN (NEW.expires_at IS NOT NULL) EXECUTE FUNCTION "watch_api_token"();
--> statement-breakpoint
INSERT INTO "credential_watch" ("organization_id", "subject_id", "credential", "looked_at", "due_at")
SELECT "organization_id", "id", 'API token', now(), now() FROM "api_tokens" WHERE "expires_at" > now();
--> statement-breakpoint
-- An agent renews its own credentials, but not what ends because another way in was asked for: it has a day at most.
CREATE FUNCTION "watch_agent_access"() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF NEW.access_ends_at > now() THEN
    INSERT INTO "credential_watch" ("organization_id", "subject_id", "credential", "looked_at", "due_at")
    VALUES (NEW.organization_id, NEW.id, 'agent credential', NEW.access_ends_at - interval '25 hours', now())
    ON CONFLICT ("organization_id", "subject_id") DO UPDATE SET "looked_at" = excluded.looked_at, "due_at" = excluded.due_at;
  ELSE
    DELETE FROM "credential_watch" WHERE "organization_id" = NEW.organization_id AND "subject_id" = NEW.id;
    PERFORM end_state(NEW.organization_id, NEW.id, 'credential_expiring', 'credential expiry');
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "watch_agent_access" AFTER UPDATE OF "access_ends_at" ON "agents" FOR EACH ROW
WHEN (NEW.access_ends_at IS DISTINCT FROM OLD.access_ends_at) EXECUTE FUNCTION "watch_agent_access"();
