import { connectDatabase, MAINTENANCE } from "#db/connect";
import { EXAMPLE_PEM, EXAMPLE_SUMMARY } from "#modules/certificates/certificates/schema/example";
import { seededId, THING } from "../requests";

const ending = (n: number) => seededId(`2${String(n).padStart(11, "0")}`);
export const ORGANIZATION = ending(0);
export const CERTIFICATE = ending(1);
const INTERMEDIATE = ending(2);
export const LEAF = ending(3);
export const READER = ending(4);
/** How many of a kind have ids that end in a number from THING on; each of these agents has an assignment with its own number. */
export const SPREAD = { agents: 1_000, systems: 100 };

/** Fills a database that has all tables and no rows with what the operations work on. */
export async function seedPeers(url: string, { certificates, notices }: { certificates: number; notices: number }) {
  const { $client: sql } = connectDatabase(url, MAINTENANCE);
  const thing = sql.text(`('${seededId("")}' || (${THING} + i))::uuid`);
  const upTo = (count: number) => sql.text(`generate_series(0, ${count - 1}) i`);
  await sql`insert into organizations (id, name) values (${ORGANIZATION}, 'Bench')`;
  await sql`insert into users (id, email) values (${READER}, 'bench@people.example')`;
  await sql`insert into inboxes (user_id, total, unread) values (${READER}, ${notices}, ${notices})`;
  await sql`
    insert into notices (user_id, position, id, organization_id, kind, title, message)
    select ${READER}, i + 1, new_id(), ${ORGANIZATION}, 'certificate_expiring', 'A certificate expires soon', 'www.example.com expires in 14 days.' from ${upTo(notices)}`;
  await sql`insert into members (organization_id, id, user_id, email, role, status) values (${ORGANIZATION}, ${READER}, ${READER}, 'bench@people.example', 'ORG_ADMIN', 'active')`;
  await sql`
    insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, issuer_id, not_before, not_after,
      is_ca, self_signed, facts, pem, search)
    select ${ORGANIZATION}, given.id::uuid, 'Bench ' || n, encode(sha256(given.id::bytea), 'hex'), 'CN=Bench ' || n, 'CN=Bench ' || greatest(n - 1, 1), n, greatest(n - 1, 1),
      issuer::uuid, now(), now() + interval '9 years', n < 3, n = 1, ${JSON.stringify(EXAMPLE_SUMMARY)}::text::jsonb, ${EXAMPLE_PEM}, ''
    from (values (1, ${CERTIFICATE}, null), (2, ${INTERMEDIATE}, ${CERTIFICATE}), (3, ${LEAF}, ${INTERMEDIATE})) as given (n, id, issuer)`;
  await sql`
    insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, issuer_id, not_before, not_after,
      is_ca, self_signed, facts, pem, status, search)
    select ${ORGANIZATION}, ${thing}, 'host-' || i, encode(sha256(i::text::bytea), 'hex'), 'CN=host-' || i, 'CN=Bench 2', 'host-' || i, '2', ${INTERMEDIATE},
      now() - interval '400 days', now() + (random() * 1200 - 100) * interval '1 day', false, false, ${JSON.stringify(EXAMPLE_SUMMARY)}::text::jsonb, ${EXAMPLE_PEM},
      (case when i % 50 = 0 then 'revoked' else 'active' end)::certificate_status, ''
    from ${upTo(certificates)}`;
  await sql`
    insert into agents (organization_id, id, name, labels, token_hash)
    select ${ORGANIZATION}, ${thing}, 'host-' || i, jsonb_build_object('fleet', case when i < ${SPREAD.agents} then 'edge' else 'core' end, 'host', 'h' || i),
      sha256(i::text::bytea) from ${upTo(2 * SPREAD.agents)}`;
  const assignment = sql`organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key, config, target, auto_renew, enabled`;
  await sql`
    insert into assignments (${assignment})
    select ${ORGANIZATION}, ${thing}, ${thing}, ${thing}, 'shop', 'nginx_tls', 'server_certificate', false,
      '{"trustStorePath":"/etc/nginx/tls"}', '["/etc/nginx/tls", null]', true, true from ${upTo(SPREAD.agents)}`;
  await sql`
    insert into assignments (${assignment}, reported_state, reported_at)
    select ${ORGANIZATION}, new_id(), ${thing}, ${LEAF}, 'shop', 'nginx_tls', 'server_certificate', false, '{}', '[null, null]', true, true, 'installed', now() from ${upTo(3)}`;
  await sql`insert into ai_systems (organization_id, id, key, last_sample_at) select ${ORGANIZATION}, new_id(), 'system-' || (${THING}::bigint + i), now() + interval '1 hour' from ${upTo(SPREAD.systems)}`;
  await sql`truncate pending_links`; // they are linked already
  await sql`vacuum (analyze)`;
  await sql`checkpoint`;
  await sql.end();
}
