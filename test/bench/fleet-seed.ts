import { connectDatabase, MAINTENANCE } from "#db/connect";
import { migrate } from "#db/migrate";
import { EXAMPLE_PEM, EXAMPLE_SUMMARY } from "#modules/certificates/certificates/schema/example";

export const ORGANIZATION = "018f0000-0000-7000-8000-300000000000";
const INTERMEDIATES = 50;
const LEAVES = 5_000;
const ORGANIZATIONS = 5_000;

export const tokenOf = (agent: number) => `cag_${String(agent).padStart(43, "0")}`;
/** SQL: the stored hash of the token of the agent with that number. */
export const tokenHash = (agent: string) => `sha256(('cag_' || lpad(${agent}::text, 43, '0'))::bytea)`;

/** Fills an empty database with agents of three assignments each, of leaves below an intermediate and a root. */
export async function seedFleet(url: string, agents: number) {
  const sql = connectDatabase(url, MAINTENANCE).$client;
  await migrate(sql);
  await sql`insert into organizations (id, name) values (${ORGANIZATION}, 'Fleet')`;
  await sql`create temporary table made as select n, new_id() as id, case when n > ${INTERMEDIATES}::int then 1 + n % ${INTERMEDIATES}::int else 0 end as issuer
    from generate_series(0, ${INTERMEDIATES + LEAVES}::int) n`;
  await sql`
    insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, issuer_id, not_before, not_after,
      is_ca, self_signed, facts, pem, search)
    select ${ORGANIZATION}, made.id, 'Certificate ' || made.n, encode(sha256(made.n::text::bytea), 'hex'), 'CN=' || made.n, 'CN=' || issuer.n, made.n, issuer.n,
      nullif(issuer.id, made.id), now(), now() + interval '1 year', made.n <= ${INTERMEDIATES}, made.n = 0, ${JSON.stringify(EXAMPLE_SUMMARY)}::jsonb, ${EXAMPLE_PEM}, ''
    from made join made issuer on issuer.n = made.issuer`;
  await sql`
    insert into agents (organization_id, id, name, token_hash)
    select ${ORGANIZATION}, new_id(), n, ${sql.text(tokenHash("n"))} from generate_series(1, ${agents}::int) n`;
  await sql`
    insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key,
      config, target, auto_renew, enabled)
    select ${ORGANIZATION}, new_id(), agents.id, made.id, 'shop', 'nginx_tls', 'server_certificate', false, jsonb_build_object('trustStorePath', '/etc/tls/' || part),
      part, true, true
    from generate_series(0, 2) part cross join agents join made on made.n = ${INTERMEDIATES + 1} + (agents.name::int * 3 + part) % ${LEAVES}::int`;
  await sql`
    insert into signing_keys (organization_id, id, generation, public_key, created_by)
    select new_id(), new_id(), 1, n, '{}' from generate_series(1, ${ORGANIZATIONS}::int) n`; // of others, so that no plan is made for a table of one row
  await sql`vacuum (analyze)`;
  await sql`checkpoint`;
  await sql.end();
}

/** How many policies there are, each of a tier of the fleet. */
export const POLICIES = 20;

/** Gives every third assignment to a policy, which matches its agent. */
export async function seedPolicies(url: string) {
  const sql = connectDatabase(url, MAINTENANCE).$client;
  await sql`update agents set labels = jsonb_build_object('tier', 't' || name::int % ${POLICIES}::int)`;
  await sql`
    insert into assignment_policies (organization_id, id, name, selector, selector_path, certificate_id, application_id, trust_store_type, material_type, include_private_key,
      config, target, auto_renew, enabled)
    select ${ORGANIZATION}, new_id(), 't' || tier, 'tier=t' || tier, '($."tier" == "t' || tier || '")', c.id, 'shop', 'nginx_tls', 'server_certificate', false,
      '{"trustStorePath": "/etc/tls/2"}', '2', true, true
    from generate_series(0, ${POLICIES - 1}::int) tier join certificates c on c.common_name = 'Certificate ' || ${INTERMEDIATES + 1} + tier`;
  await sql`
    update assignments a set policy_id = p.id, certificate_id = p.certificate_id from agents join assignment_policies p on p.name = agents.labels->>'tier'
    where a.agent_id = agents.id and a.target = '2'`;
  await sql`vacuum (analyze)`;
  await sql`checkpoint`;
  await sql.end();
}

/** As a fleet that polls each minute leaves it: one in five was seen more than five minutes ago. */
export const spreadLastSeen = `update agents set last_seen_at = now() - (name::int % 5 + 1.5) * interval '1 minute'`;
