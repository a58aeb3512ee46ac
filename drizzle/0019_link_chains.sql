-- An import looks for issuers and children once it has stored all of its certificates; where it could not, the server's job does.
CREATE FUNCTION "await_links"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "pending_links" ("organization_id", "certificate_id", "due_at")
  SELECT "organization_id", "id", now() + interval '10 seconds' FROM "added";
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "await_links" AFTER INSERT ON "certificates" REFERENCING NEW TABLE AS "added" FOR EACH STATEMENT EXECUTE FUNCTION "await_links"();
--> statement-breakpoint
-- What lies unlinked although a certificate of its issuer's name is stored: the job checks the signatures after the upgrade.
INSERT INTO "pending_links" ("organization_id", "certificate_id")
SELECT "organization_id", "id" FROM "certificates" "orphan" WHERE "issuer_id" IS NULL AND NOT "self_signed" AND EXISTS (
  SELECT FROM "certificates" "issuer" WHERE "issuer"."organization_id" = "orphan"."organization_id"
    AND "issuer"."subject_hash" = "orphan"."issuer_hash" AND ("issuer"."is_ca" OR "issuer"."self_signed"));
--> statement-breakpoint
-- What waits to be sorted into the index of words is sorted in by whoever writes when the list is full: at 4 MB, the default, that takes a third of a second.
ALTER INDEX "certificates_search_index" SET (gin_pending_list_limit = 256);
