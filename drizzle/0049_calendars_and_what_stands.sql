CREATE TABLE "calendar_links" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"secret_hash" "bytea" NOT NULL,
	"created_by" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "calendar_links_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "expiry_watch" ADD COLUMN "is_standing" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "notification_events" ADD COLUMN "is_reminder" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "calendar_links_organization_id_secret_hash_index" ON "calendar_links" USING btree ("organization_id","secret_hash");--> statement-breakpoint
CREATE INDEX "expiry_watch_standing_index" ON "expiry_watch" USING btree ("organization_id","names_hash") WHERE is_standing;
--> statement-breakpoint
-- What is told of certificates that the new ones renew ends: the watch looks at them. One by one, in the order of their ids, as other writers lock them.
CREATE OR REPLACE FUNCTION "watch_added"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  renewed record;
BEGIN
  INSERT INTO "expiry_watch" ("organization_id", "certificate_id", "due_at", "names_hash", "not_after")
  SELECT "organization_id", "id", now(), names_hash("facts", "subject"), "not_after" FROM "added";
  FOR renewed IN
    SELECT predecessor."organization_id", predecessor."certificate_id"
    FROM (
      SELECT watched."organization_id", "names_hash", max(watched."not_after") AS "not_after" FROM "added" CROSS JOIN LATERAL (
        SELECT * FROM "expiry_watch" WHERE "organization_id" = "added"."organization_id" AND "certificate_id" = "added"."id" OFFSET 0) AS watched
      GROUP BY 1, 2) AS given CROSS JOIN LATERAL (
      SELECT "organization_id", "certificate_id" FROM "expiry_watch"
      WHERE "is_standing" AND "organization_id" = given."organization_id" AND "names_hash" = given."names_hash" AND "not_after" < given."not_after" OFFSET 0) AS predecessor
    ORDER BY predecessor."certificate_id"
  LOOP
    UPDATE "expiry_watch" SET "due_at" = now() WHERE "organization_id" = renewed."organization_id" AND "certificate_id" = renewed."certificate_id";
  END LOOP;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Another owner, other thresholds.
CREATE FUNCTION "watch_annotated"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "expiry_watch" SET "due_at" = now() WHERE "organization_id" = NEW."organization_id" AND "certificate_id" = NEW."id";
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "watch_annotated" AFTER UPDATE OF "labels", "owner_id" ON "certificates" FOR EACH ROW
WHEN (NEW."labels" <> OLD."labels" OR NEW."owner_id" IS DISTINCT FROM OLD."owner_id") EXECUTE FUNCTION "watch_annotated"();
--> statement-breakpoint
-- A rotation that is completed has renewed its predecessor, one that is halted or rolled back no longer keeps the watch silent.
CREATE FUNCTION "watch_rotated"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "expiry_watch" SET "due_at" = now() WHERE "organization_id" = NEW."organization_id" AND "certificate_id" = NEW."predecessor_id";
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "watch_rotated" AFTER UPDATE OF "status" ON "rollouts" FOR EACH ROW
WHEN (NEW."predecessor_id" IS NOT NULL AND NEW."status" <> OLD."status") EXECUTE FUNCTION "watch_rotated"();
