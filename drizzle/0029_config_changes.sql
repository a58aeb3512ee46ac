-- The old and new value of each field of two configs that differ; null where none does. As a function it costs nothing where the configs are equal.
CREATE FUNCTION "config_changes"("old" jsonb, "new" jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN (SELECT jsonb_object_agg('config.' || key, jsonb_build_object('from', "old"->key, 'to', "new"->key))
    FROM jsonb_object_keys("old" || "new") AS key WHERE "old"->key IS DISTINCT FROM "new"->key);
END $$;
