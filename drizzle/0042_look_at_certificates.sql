-- What a certificate is for: its alternative names in any order or, without any, its subject. A renewal is for the same.
CREATE FUNCTION "names_hash"("facts" jsonb, "subject" text) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT md5(coalesce((
    SELECT string_agg(kind || ' ' || lower(name), ',' ORDER BY kind || ' ' || lower(name) COLLATE "C")
    FROM jsonb_each("facts" -> 'subjectAlternativeNames') AS each (kind, list), jsonb_array_elements_text(list) AS name), "subject"))::uuid
$$;
--> statement-breakpoint
CREATE FUNCTION "watch_added"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "expiry_watch" ("organization_id", "certificate_id", "due_at", "names_hash", "not_after")
  SELECT "organization_id", "id", now(), names_hash("facts", "subject"), "not_after" FROM "added";
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "watch_added" AFTER INSERT ON "certificates" REFERENCING NEW TABLE AS "added" FOR EACH STATEMENT EXECUTE FUNCTION "watch_added"();
--> statement-breakpoint
-- One that is active again has something to tell again; one that ends no longer renews another.
CREATE FUNCTION "watch_status"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "expiry_watch" SET "due_at" = now()
  WHERE "organization_id" = NEW."organization_id" AND "names_hash" = names_hash(NEW."facts", NEW."subject") AND "not_after" <= NEW."not_after";
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "watch_status" AFTER UPDATE OF "status" ON "certificates" FOR EACH ROW WHEN (NEW."status" <> OLD."status") EXECUTE FUNCTION "watch_status"();
