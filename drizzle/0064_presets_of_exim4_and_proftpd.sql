-- The directory of a preset of pem_files and, where that is not tls.crt, the first of its files.
CREATE OR REPLACE FUNCTION "preset_place"("preset" text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{
  "apache2": ["/etc/apache2/ssl"],
  "bind9": ["/etc/bind/tls"],
  "caddy": ["/etc/caddy/tls"],
  "cups": ["/etc/cups/ssl", "{hostname}.crt"],
  "dovecot": ["/etc/dovecot/private", "dovecot.pem"],
  "exim4": ["/etc/exim4/tls"],
  "lighttpd": ["/etc/lighttpd/certs"],
  "mariadb-server": ["/etc/mysql/ssl", "server-cert.pem"],
  "mosquitto": ["/etc/mosquitto/certs"],
  "nats-server": ["/etc/nats/tls"],
  "postfix": ["/etc/postfix/tls"],
  "proftpd": ["/etc/proftpd/tls"],
  "prosody": ["/etc/prosody/certs"],
  "rabbitmq-server": ["/etc/rabbitmq/tls"],
  "slapd": ["/etc/ldap/tls"],
  "squid": ["/etc/squid/tls"],
  "stunnel4": ["/etc/stunnel", "stunnel.pem"],
  "unbound": ["/etc/unbound/tls"],
  "vsftpd": ["/etc/vsftpd"]
}'::jsonb->"preset";