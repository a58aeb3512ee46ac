-- Every timestamp that leaves the database as JSON: ISO 8601 in UTC with milliseconds, with microseconds where it has any.
CREATE OR REPLACE FUNCTION "iso"(timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char($1 AT TIME ZONE 'UTC', CASE WHEN $1 = $1::timestamptz(3) THEN 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"' ELSE 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' END);
--> statement-breakpoint
-- A column of a partition key cannot change its type, so the partitions get a new parent. No row is rewritten and no index rebuilt.
DO $$
DECLARE
	part record;
	parts jsonb;
BEGIN
	SELECT jsonb_agg(jsonb_build_object('name', oid::regclass::text, 'bound', pg_get_expr(relpartbound, oid)) ORDER BY pg_get_expr(relpartbound, oid) = 'DEFAULT')
		INTO parts FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'metric_samples'::regclass;
	FOR part IN SELECT * FROM jsonb_to_recordset(parts) AS p (name text) LOOP
		EXECUTE format('ALTER TABLE metric_samples DETACH PARTITION %s', part.name);
		EXECUTE format('ALTER TABLE %s ALTER COLUMN recorded_at TYPE timestamp (6) with time zone', part.name);
	END LOOP;
	DROP TABLE metric_samples;
	CREATE TABLE "metric_samples" (
		"organization_id" uuid NOT NULL,
		"system_id" uuid NOT NULL,
		"metric" text NOT NULL,
		"recorded_at" timestamp (6) with time zone NOT NULL,
		"labels" jsonb NOT NULL,
		"labels_hash" bigint NOT NULL,
		"value" double precision NOT NULL,
		"unit" text,
		CONSTRAINT "metric_samples_pk" PRIMARY KEY ("organization_id", "system_id", "metric", "recorded_at", "labels_hash")
	) PARTITION BY RANGE ("recorded_at");
	FOR part IN SELECT * FROM jsonb_to_recordset(parts) AS p (name text, bound text) LOOP
		EXECUTE format('ALTER TABLE metric_samples ATTACH PARTITION %s %s', part.name, part.bound);
	END LOOP;
END $$;
