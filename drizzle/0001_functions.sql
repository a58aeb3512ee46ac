-- drizzle knows no INCLUDE: the top-expiring list is answered from this index alone.
CREATE INDEX "certificates_expiring_index" ON "certificates" ("organization_id", "not_after", "id") INCLUDE ("common_name", "not_before") WHERE "status" = 'active';
--> statement-breakpoint
-- Every timestamp that leaves the database as JSON: ISO 8601 in UTC with milliseconds.
CREATE FUNCTION "iso"(timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char($1 AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
--> statement-breakpoint
-- A time-ordered UUIDv7, as Postgres 18 has it built in, for rows that a statement makes by itself.
CREATE FUNCTION "new_id"() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid;
