-- The directory of a preset of pem_files and, where that is not tls.crt, the first of its files.
CREATE FUNCTION "preset_place"("preset" text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{
  "apache2": ["/etc/apache2/ssl"],
  "bind9": ["/etc/bind/tls"],
  "caddy": ["/etc/caddy/tls"],
  "cups": ["/etc/cups/ssl", "{hostname}.crt"],
  "dovecot": ["/etc/dovecot/private", "dovecot.pem"],
  "lighttpd": ["/etc/lighttpd/certs"],
  "mariadb-server": ["/etc/mysql/ssl", "server-cert.pem"],
  "mosquitto": ["/etc/mosquitto/certs"],
  "nats-server": ["/etc/nats/tls"],
  "postfix": ["/etc/postfix/tls"],
  "prosody": ["/etc/prosody/certs"],
  "rabbitmq-server": ["/etc/rabbitmq/tls"],
  "slapd": ["/etc/ldap/tls"],
  "squid": ["/etc/squid/tls"],
  "stunnel4": ["/etc/stunnel", "stunnel.pem"],
  "unbound": ["/etc/unbound/tls"],
  "vsftpd": ["/etc/vsftpd"]
}'::jsonb->"preset";
--> statement-breakpoint
-- The place in a store. For pem_files it is the directory and the first file that the agent writes there, whether the config names them or its preset.
-- It is STABLE, as what it calls: only so does Postgres write it into statements, instead of a call for each row.
CREATE FUNCTION "target_of"("store" text, "material" text, "config" jsonb) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE "store" WHEN 'pem_files' THEN jsonb_build_array(
  coalesce("config"->>'trustStorePath', preset_place("config"->>'preset')->>0), "config"->>'alias',
  CASE WHEN "material" IN ('trust_anchor', 'intermediate_ca') THEN coalesce("config"->>'caFileName', 'ca.crt')
    ELSE coalesce("config"->>'certFileName', "config"->>'fullChainFileName', "config"->>'chainFileName', "config"->>'combinedFileName', "config"->>'keyFileName',
      preset_place("config"->>'preset')->>1, 'tls.crt') END)
ELSE jsonb_build_array(coalesce("config"->>'trustStorePath', "config"->>'keychainPath'), "config"->>'alias') END::text;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "place_of"("store" text, "material" text, "certificate" uuid, "config" jsonb) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_array("store", CASE "store" WHEN 'pem_files' THEN to_jsonb(target_of("store", "material", "config"))
  ELSE jsonb_build_array("config"->>'trustStorePath', "config"->>'keychainPath', "config"->>'alias', "config"->>'certFileName', "config"->>'envFilePath',
    "config"->>'pythonVenvPath', "config"->>'dbUser', "config"->>'racfProfile', "config"->>'systemId') END,
  CASE WHEN "material" IN ('trust_anchor', 'intermediate_ca') AND "config"->>'alias' IS NULL THEN "certificate" END)::text;
--> statement-breakpoint
-- A release before this one tells two presets of one certificate apart by alias alone: whatever it writes gets the right place.
CREATE FUNCTION "set_target"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."target" := target_of(NEW."trust_store_type", NEW."material_type", NEW."config");
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER "set_target" BEFORE INSERT OR UPDATE OF "target" ON "assignments" FOR EACH ROW
WHEN (NEW."trust_store_type" = 'pem_files') EXECUTE FUNCTION "set_target"();
--> statement-breakpoint
CREATE TRIGGER "set_target" BEFORE INSERT OR UPDATE OF "target" ON "assignment_policies" FOR EACH ROW
WHEN (NEW."trust_store_type" = 'pem_files') EXECUTE FUNCTION "set_target"();
--> statement-breakpoint
UPDATE "assignment_policies" SET "target" = target_of("trust_store_type", "material_type", "config") WHERE "trust_store_type" = 'pem_files';
--> statement-breakpoint
-- Where two assignments of one certificate are for the same files, the agent refuses the second: that one keeps the target that it had.
UPDATE "assignments" AS a SET "target" = due."target" FROM (
  SELECT known.*, row_number() OVER (PARTITION BY "organization_id", "agent_id", "certificate_id", "target" ORDER BY "id") AS turn
  FROM (
    SELECT "organization_id", "agent_id", "id", "certificate_id", target_of("trust_store_type", "material_type", "config") AS "target"
    FROM "assignments" WHERE "trust_store_type" = 'pem_files' AND "removing_since" IS NULL) AS known) AS due
WHERE (a."organization_id", a."agent_id", a."id") = (due."organization_id", due."agent_id", due."id") AND turn = 1;
