import { connectDatabase } from "#db/connect";
import { migrate } from "#db/migrate";
import { findControl } from "#modules/governance/frameworks/rules/catalogue";
import { ANY_VERSION, seededId, THING } from "./operations-sql";

const ending = (n: number) => seededId(`2${String(n).padStart(11, "0")}`);
export const ORGANIZATION = ending(0);
export const CERTIFICATE = ending(1);
/** The agents of the assignments that are made, and of those that are changed. */
export const [BUSY_AGENT, STEADY_AGENT] = [ending(2), ending(3)];
export const READER = ending(4);
export const SPREAD = { organizations: 500, users: 200_000, assignments: 10_000, systems: 100 };
export const CONTROL = { framework: "euaiact", id: Bun.randomUUIDv5("euaiact Art. 9", "de91e746-1c19-4d62-ae50-aec2c4c7e92f") } as const;

/** Fills an empty database with what the operations work on; ids that end in a number from THING on are drawn at random. */
export async function seedOperations(url: string, notices: number) {
  const db = connectDatabase(url, { max: 1, statementTimeout: 0, silence: 0 });
  const sql = db.$client;
  await migrate(sql);
  const thing = sql.unsafe(`('${seededId("")}' || (${THING} + i))::uuid`);
  const upTo = (count: number) => sql.unsafe(`generate_series(0, ${count - 1}) i`);
  if (!findControl(CONTROL.framework, CONTROL.id)) throw new Error("the measured control is in no catalogue");
  await sql`insert into organizations (id, name) values (${ORGANIZATION}, 'Bench')`;
  await sql`insert into organizations (id, name) select ${thing}, 'Organization ' || i from ${upTo(SPREAD.organizations)}`;
  await sql`insert into users (id) values (${READER})`;
  await sql`insert into users (id) select ${thing} from ${upTo(SPREAD.users)}`;
  await sql`
    insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, not_before, not_after,
      is_ca, self_signed, facts, pem, status, search)
    values (${ORGANIZATION}, ${CERTIFICATE}, 'Bench Root', repeat('0', 64), 'CN=Bench Root', 'CN=Bench Root', '0', '0', now(), now() + interval '1 year',
      true, true, '{}', '', 'active', '')`;
  await sql`
    insert into agents (organization_id, id, name, token_hash)
    select ${ORGANIZATION}, id, 'host', sha256(id::text::bytea) from unnest(array[${BUSY_AGENT}, ${STEADY_AGENT}]::uuid[]) id`;
  await sql`
    insert into agents (organization_id, id, name, labels, token_hash)
    select ${ORGANIZATION}, new_id(), 'host-' || i, jsonb_build_object('fleet', 'edge', 'host', 'h' || i), sha256(i::text::bytea) from ${upTo(10_000)}`;
  await sql`
    insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key,
      config, target, auto_renew, enabled)
    select ${ORGANIZATION}, ${thing}, ${STEADY_AGENT}, ${CERTIFICATE}, 'shop', 'linux_update_ca_certificates', 'trust_anchor', false,
      jsonb_build_object('alias', 'root-' || i), jsonb_build_array(null, 'root-' || i)::text, true, true from ${upTo(SPREAD.assignments)}`;
  await sql`
    insert into controls (organization_id, control_id, framework, status, version)
    select ${thing}, ${CONTROL.id}, ${CONTROL.framework}, 'in_progress', ${ANY_VERSION} from ${upTo(SPREAD.organizations)}`;
  await sql`insert into ai_systems (organization_id, id, key, last_sample_at) select ${ORGANIZATION}, new_id(), 'system-' || (${THING}::bigint + i), now() from ${upTo(SPREAD.systems)}`;
  await sql`insert into inboxes (user_id, total, unread) values (${READER}, ${notices}, ${notices})`;
  await sql`
    insert into notices (user_id, position, id, organization_id, kind, title, message)
    select ${READER}, i + 1, new_id(), ${ORGANIZATION}, 'certificate_expiring', 'A certificate expires soon', 'www.example.com expires in 14 days.' from ${upTo(notices)}`;
  await sql`vacuum (analyze)`;
  await sql`checkpoint`;
  await sql.end();
}
