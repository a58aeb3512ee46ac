import { randomBytes } from "node:crypto";
import { createKeyring } from "#crypto/keyring";
import { createStamps } from "#crypto/stamps";
import { connectDatabase, MAINTENANCE, type Pool } from "#db/connect";
import { updateLabels } from "#modules/fleet/agents/queries/labels";
import { deletePolicy } from "#modules/fleet/assignment-policies/queries/change-policy";
import { createPolicy } from "#modules/fleet/assignment-policies/queries/create-policy";
import { reconcilePolicies } from "#modules/fleet/assignment-policies/queries/reconcile";
import { readNewPolicy } from "#modules/fleet/assignment-policies/rules";
import type { Scope } from "#modules/people/audit/queries";
import { inDatabase, type Workplace } from "./database";
import { ORGANIZATION, seedFleet } from "./fleet-seed";

const HELP = `bun run bench:policies [--quick]

What does an assignment policy cost over 50,000 agents of three assignments each? Its creation, a change of all labels with
and without policies, and its deletion, next to the bare statement that writes the same assignments and their events.
Needs a Postgres on this machine: TEST_DATABASE_URL, or the local one. It makes a database of its own there and drops it.

  --quick   5,000 agents`;

const AGENTS = Bun.argv.includes("--quick") ? 5_000 : 50_000;
const OTHERS = 10;
const stamps = createStamps(createKeyring([randomBytes(32)]));
const scope: Scope = { organizationId: ORGANIZATION, actor: { type: "server" }, requestId: null };

if (Bun.argv.includes("--help")) console.info(HELP);
else await inDatabase("policies", bench);

async function bench({ url }: Workplace) {
  await seedFleet(url, AGENTS);
  const sql = connectDatabase(url, MAINTENANCE).$client;
  const [root] = await sql<{ id: string }[]>`select id from certificates where organization_id = ${ORGANIZATION} and self_signed`;
  const certificateId = root?.id ?? "";
  await sql`update agents set labels = '{"env": "prod"}'`;
  await sql`vacuum (analyze)`;

  const label = (key: string, value = "1") => updateLabels(sql, scope, { selector: { env: "prod" } }, { set: { [key]: value }, unset: [], isDryRun: false });
  const relabel = (tier: string) => label("tier", tier);
  await measure("labels of all agents, no policy", () => relabel("none"));
  const bare = await measure("bare: the same rows and events, one statement", () => writeBare(sql, certificateId));
  await sql`vacuum (analyze) assignments, audit_events`;
  const own = { id: "" };
  const first = await measure("a policy over all: its request", async () => {
    own.id = await create(sql, certificateId, "env=prod", "first");
  });
  const rest = await measure("… and the job's part", () => settle(sql));
  const [made] = await sql<{ count: number }[]>`select count(*)::int as count from assignments where policy_id = ${own.id}`;
  if (made?.count !== AGENTS) throw new Error(`the policy made ${made?.count} assignments`);
  console.info(`${"assignments".padEnd(52)}${made.count}`);
  console.info(`${"policy / bare".padEnd(52)}${((first + rest) / bare).toFixed(2)}`);
  for (let other = 0; other < OTHERS; other++) await create(sql, certificateId, `tier=t${other}`, `other-${other}`);
  await settle(sql);
  await sql`vacuum (analyze)`;
  await measure(`labels of all agents, ${OTHERS + 1} policies`, () => relabel("some"));
  await measure("… and the job's part: nothing to change", () => settle(sql));
  await measure("a label of all agents that no policy names", () => label("wave"));
  await relabel("t1");
  await measure("the job's part: an assignment for each agent", () => settle(sql));
  await relabel("none");
  await measure("the job's part: one to take from each agent", () => settle(sql));
  const [agent] = await sql<{ id: string }[]>`select id from agents limit 1`;
  await updateLabels(sql, scope, { agentIds: [agent?.id ?? ""] }, { set: { tier: "t2" }, unset: [], isDryRun: false });
  await measure("the job's part: one agent", () => settle(sql));
  await measure("its deletion: the request", () => deletePolicy(sql, stamps, scope, { id: own.id, versions: undefined }));
  await measure("… and the job's part", () => settle(sql));
  await sql.end();
}

function settle(sql: Pool) {
  return reconcilePolicies(sql, stamps, scope, new AbortController().signal);
}

async function create(sql: Pool, certificateId: string, selector: string, alias: string) {
  const body = { selector, applicationId: "bench", certificateId, trustStoreType: "linux_update_ca_certificates" as const, config: { alias } };
  const read = readNewPolicy(body);
  if ("invalid" in read) throw new Error(read.invalid);
  const created = await createPolicy(sql, stamps, scope, read.policy, undefined, false, new Date());
  if (!("id" in created)) throw new Error(`the policy was refused: ${JSON.stringify(created)}`);
  return created.id;
}

/** The least that writes as many assignments and events; undone, so that the policy finds the place free. */
async function writeBare(sql: Pool, certificateId: string) {
  await sql`begin`;
  await sql`
    with made as (
      insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key, config, target, auto_renew, enabled)
      select organization_id, new_id(), id, ${certificateId}, 'bench', 'linux_update_ca_certificates', 'trust_anchor', false, '{"alias": "first"}', 'first', true, true
      from agents where organization_id = ${ORGANIZATION} returning *)
    insert into audit_events (organization_id, id, actor, action, target_type, target_id, details)
    select organization_id, new_id(), '{"type": "server"}', 'assignment.created', 'assignment', id, to_jsonb(made) from made`;
  await sql`rollback`;
}

async function measure(what: string, work: () => Promise<unknown>) {
  const start = performance.now();
  await work();
  const took = performance.now() - start;
  console.info(`${what.padEnd(52)}${Math.round(took).toLocaleString("en")} ms`);
  return took;
}
