-- A label as it stands in certificate_labels: once with its value, and once with the empty one, which stands for any.
CREATE FUNCTION "label_entries"("labels" jsonb, OUT "key" text, OUT "value" text) RETURNS SETOF record LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT label.key, entry.value FROM jsonb_each_text($1) AS label CROSS JOIN LATERAL (VALUES (label.value), ('')) AS entry (value)
$$;
--> statement-breakpoint
CREATE FUNCTION "index_certificate_labels"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "certificate_labels" AS old_label USING label_entries(OLD.labels) AS entry
  WHERE old_label.organization_id = OLD.organization_id AND old_label.key = entry.key AND old_label.value = entry.value
    AND old_label.not_after = OLD.not_after AND old_label.certificate_id = OLD.id;
  INSERT INTO "certificate_labels" ("organization_id", "key", "value", "not_after", "certificate_id")
  SELECT NEW.organization_id, entry.key, entry.value, NEW.not_after, NEW.id FROM label_entries(NEW.labels) AS entry;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "index_certificate_labels" AFTER UPDATE OF "labels" ON "certificates" FOR EACH ROW
WHEN (OLD.labels <> NEW.labels) EXECUTE FUNCTION "index_certificate_labels"();
