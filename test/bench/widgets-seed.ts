import { connectDatabase } from "#db/connect";
import { foldCounts } from "#modules/core/widgets/queries/counts";
import stores from "#modules/fleet/trust-stores/rules/catalog.json";
import { type Organization, seed, USER } from "./seed";

export type Fleet = { certificates: number; agents: number; assignmentsEach: number; notices: number };

const PLATFORMS = ["linux", "linux", "linux", "windows", "macos"];
const LABELS = { env: ["prod", "test", "dev"], region: ["eu-1", "eu-2", "us-1", "ap-1"] };

/** Fills an empty database with one organization of that size: two in five assignments are not as they should be. */
export async function seedWidgets(url: string, { certificates, agents, assignmentsEach, notices }: Fleet): Promise<Organization> {
  const [organization] = await seed(url, [certificates]);
  if (!organization) throw new Error("the seed made no organization");
  const sql = connectDatabase(url, { max: 1, statementTimeout: 0, silence: 0 }).$client;
  const pick = (values: string[], n: string) => sql.text(`(array[${values.map((each) => `'${each}'`)}])[1 + (${n}) % ${values.length}]`);
  await sql`
    insert into agents (organization_id, id, name, labels, token_hash, host, last_seen_at)
    select ${organization.id}, new_id(), 'host-' || lpad(n::text, 6, '0'),
      jsonb_build_object('env', ${pick(LABELS.env, "n")}, 'region', ${pick(LABELS.region, "n / 3")}, 'rack', 'r' || n / 40), sha256(n::text::bytea),
      case when n % 100 > 0 then jsonb_build_object('platform', ${pick(PLATFORMS, "n")}, 'agentVersion', '1.' || n % 4, 'hostname', 'host-' || n) end,
      case when n % 100 > 0 then now() - (n % 97) * (n % 13) * interval '1 minute' end
    from generate_series(1, ${agents}::int) n`;
  await sql`
    insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key, config, target,
      auto_renew, enabled, created_at, updated_at, reported_state, reported_fingerprint, reported_at, removing_since)
    select a.organization_id, new_id(), a.id, c.id, 'shop', ${pick(
      stores.items.map((each) => each.trustStoreType),
      "n * 7 + part * 5",
    )}, ${pick(["trust_anchor", "intermediate_ca", "trust_anchor", "server_certificate"], "n + part")},
      false, jsonb_build_object('alias', 'shop-' || part), jsonb_build_array(null, 'shop-' || part)::text, true, (n + part) % 20 > 0, since, since,
      case when draw < 75 then 'installed' when draw < 85 then 'failed' when draw < 90 then 'removed' end,
      case when draw < 60 then c.fingerprint_sha256 when draw < 75 then repeat('0', 64) end, case when draw < 90 then since + interval '1 minute' end,
      case when (n + part) % 40 = 0 then since end
    from (select *, right(name, 6)::int as n from agents where organization_id = ${organization.id} and name ~ '^host-[0-9]{6}$') as a
    cross join generate_series(0, ${assignmentsEach - 1}::int) part
    cross join lateral (select now() - (n * 4 + part) % 100000 * interval '1 minute' - interval '5 minutes' as since, (n * 31 + part * 17) % 100 as draw) as drawn
    join certificates c on c.organization_id = a.organization_id and c.id = ('018f' || lpad(to_hex(3 + (n * 4 + part) % 1000), 8, '0') || right(replace(a.organization_id::text, '-', ''), 20))::uuid`;
  await sql`insert into inboxes (user_id, total, unread) values (${USER}, ${notices}, ${notices})`;
  await sql`
    insert into notices (user_id, position, id, kind, title, message)
    select ${USER}, n, new_id(), 'certificate_expiring', 'A certificate expires soon', 'www.example.com expires in 14 days.' from generate_series(1, ${notices}::int) n`;
  await foldCounts(sql);
  await sql`vacuum (analyze)`;
  await sql`checkpoint`;
  await sql.end();
  return organization;
}
