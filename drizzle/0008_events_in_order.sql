-- Ids of one millisecond follow each other too: after the time come the version, 7, and 26 bits of a counter, the variant within them.
CREATE SEQUENCE "id_counter" AS integer MINVALUE 469762048 MAXVALUE 536870911 CYCLE;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "new_id"() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN encode(overlay(uuid_send(gen_random_uuid()) placing substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
  || int4send(overlay(nextval('id_counter')::int::bit(30) placing B'10' FROM 17 FOR 0)::bit(32)::int) FROM 1 FOR 10), 'hex')::uuid;
