import { describe, expect, test } from "bun:test";
import { certificate, chain, importInto } from "../../../support/pki/certificates";
import { importRoot, newAgent } from "../../../support/server/agents";
import { world } from "../../../support/server/world";
import { newPoller, SERVER } from "./pollers";

const sql = world.sql;

/** An agent with an assignment, beside another agent with one, and what an attacker finds in the database. */
async function withTwo() {
  const poller = await newPoller();
  const { organization, agent, assign } = poller;
  const [root, otherRoot] = [await importRoot(organization), await importRoot(organization, "Other Root")];
  const neighbour = await newAgent(organization, { name: "db-01" });
  const mine = await assign(root, { config: { alias: "mine" } });
  const other = (
    await organization.admin("POST", neighbour.assignments, {
      body: { applicationId: "x", certificateId: otherRoot, trustStoreType: "openssl_ca_dir", config: { trustStorePath: "/opt/ca" } },
    })
  ).body;
  const state = async () => (await poller.ask()).body as { items: { id: string }[]; keep: string[]; remove: { id: string }[] };
  const shown = async () => (await organization.member("GET", `${agent.assignments}/${mine.id}`)).body;
  const events = async () =>
    (await organization.admin("GET", "/audit-events?limit=100")).body.items.filter((each: { action: string }) => each.action.startsWith("assignment.held"));
  return { ...poller, root, otherRoot, neighbour, mine, other, state, shown, events };
}
type Two = Awaited<ReturnType<typeof withTwo>>;

const ATTACKS: [what: string, attack: (two: Two) => PromiseLike<unknown>][] = [
  ["its config", ({ mine }) => sql`update assignments set config = config || '{"reloadCommand": ["sh", "-c", "id"]}' where id = ${mine.id}`],
  [
    "its path",
    ({ mine }) => sql`update assignments set config = '{"trustStorePath": "/root/.ssh"}', target = 'x', version = version + 1 where id = ${mine.id}`,
  ],
  ["its certificate", ({ mine, otherRoot }) => sql`update assignments set certificate_id = ${otherRoot}, version = 9 where id = ${mine.id}`],
  ["its store", ({ mine }) => sql`update assignments set trust_store_type = 'java_cacerts' where id = ${mine.id}`],
  ["its material", ({ mine }) => sql`update assignments set material_type = 'intermediate_ca' where id = ${mine.id}`],
  ["that it includes the key", ({ mine }) => sql`update assignments set include_private_key = true where id = ${mine.id}`],
  ["that it is enabled", ({ mine }) => sql`update assignments set enabled = false where id = ${mine.id}`],
  ["that it is renewed", ({ mine }) => sql`update assignments set auto_renew = false where id = ${mine.id}`],
  ["that it is removing", ({ mine }) => sql`update assignments set removing_since = now(), enabled = false where id = ${mine.id}`],
  [
    "that it is removing, with another's proof",
    ({ mine }) => sql`update assignments set removing_since = now(), enabled = false, removal_stamp = stamp where id = ${mine.id}`,
  ],
  ["its policy", ({ mine }) => sql`update assignments set policy_id = ${crypto.randomUUID()} where id = ${mine.id}`],
  ["its stamp away", ({ mine }) => sql`update assignments set stamp = null where id = ${mine.id}`],
  ["its stamp, by one bit", ({ mine }) => sql`update assignments set stamp = set_byte(stamp, 20, get_byte(stamp, 20) # 1) where id = ${mine.id}`],
  ["its stamp to its key's name alone", ({ mine }) => sql`update assignments set stamp = substring(stamp for 10) where id = ${mine.id}`],
  [
    "its stamp to the other agent's",
    ({ mine, other }) => sql`update assignments set stamp = (select stamp from assignments where id = ${other.id}) where id = ${mine.id}`,
  ],
  [
    "the PEM of its certificate",
    ({ root, otherRoot }) => sql`update certificates set pem = (select pem from certificates where id = ${otherRoot}) where id = ${root}`,
  ],
  [
    "the PEM, with another behind it",
    ({ root, otherRoot }) => sql`update certificates set pem = pem || (select pem from certificates where id = ${otherRoot}) where id = ${root}`,
  ],
  ["the PEM to what is none", ({ root }) => sql`update certificates set pem = 'x' where id = ${root}`],
  [
    "PEM, fingerprint and stamp of its certificate",
    ({ root, otherRoot }) => sql`
      with other as (delete from certificates where id = ${otherRoot} and not exists (select from assignments where certificate_id = ${otherRoot}) returning 1)
      update certificates c set pem = o.pem, fingerprint_sha256 = reverse(o.fingerprint_sha256), stamp = o.stamp, status_stamp = o.status_stamp
      from certificates o where c.id = ${root} and o.id = ${otherRoot}`,
  ],
  [
    "the status of its certificate",
    ({ root }) => sql`update certificates set status = 'revoked', revoked_at = now(), version = version + 1 where id = ${root}`,
  ],
];

describe("an attacker who writes to the database", () => {
  test.each(ATTACKS)("commands no host by changing %s: it is held, which is audited once", async (_, attack) => {
    const two = await withTwo();
    expect(await two.state()).toMatchObject({ items: [{ id: two.mine.id }], keep: [], remove: [] });
    await attack(two);
    for (let poll = 0; poll < 3; poll++) expect(await two.state()).toMatchObject({ items: [], keep: [two.mine.id], remove: [] });
    expect(await two.shown()).toMatchObject({ heldSince: expect.any(String) });
    expect(await two.events()).toMatchObject([
      { targetId: two.mine.id, actor: { type: "server" }, details: { agentId: two.agent.id, reason: expect.any(String) } },
    ]);
    const { items } = (await two.organization.member("GET", "/deployments")).body;
    expect(items.filter((each: { heldSince: string | null }) => each.heldSince !== null)).toMatchObject([{ assignmentId: two.mine.id }]);
    expect((await two.neighbour.call("GET", "/agent/assignments")).body.items).toHaveLength(two.other.id ? 1 : 0);
  });

  test.each<[string, (two: Two, id: string) => PromiseLike<unknown>]>([
    ["of its own, without a stamp", (two, id) => copy(id, two, sql`null`)],
    ["of its own, with the stamp of one that is there", (two, id) => copy(id, two, sql`a.stamp`)],
  ])("commands no host by a row %s", async (_, insert) => {
    const two = await withTwo();
    const id = Bun.randomUUIDv7();
    await insert(two, id);
    expect(await two.state()).toMatchObject({ items: [{ id: two.mine.id }], keep: [id], remove: [] });
  });

  test("commands no host by moving a row to another agent, or to another organization", async () => {
    const [two, elsewhere] = [await withTwo(), await newPoller()];
    await sql`update assignments set agent_id = ${two.agent.id} where id = ${two.other.id}`;
    expect(await two.state()).toMatchObject({ items: [{ id: two.mine.id }], keep: [two.other.id] });
    await sql`
      insert into certificates select (jsonb_populate_record(c, jsonb_build_object('organization_id', ${elsewhere.organization.id}::text))).* from certificates c where id = ${two.root}`;
    await sql`update assignments set organization_id = ${elsewhere.organization.id}, agent_id = ${elsewhere.agent.id} where id = ${two.mine.id}`;
    expect((await elsewhere.ask()).body).toMatchObject({ items: [], keep: [two.mine.id], remove: [] });
  });

  test("commands no host by other issuers above its certificate", async () => {
    const { organization, assign, ask } = await newPoller();
    const made = chain();
    const [leaf = ""] = await importInto(organization, made.leaf.pem, made.intermediate.pem, made.root.pem);
    const { id } = await assign(leaf, SERVER);
    expect((await ask()).body.items[0].chain).toHaveLength(2);
    const [foreign = ""] = await importInto(organization, certificate({ isCa: true }).pem);
    await sql`update certificates set issuer_id = ${foreign} where id = ${leaf}`;
    expect((await ask()).body).toMatchObject({ items: [], keep: [id] });
  });

  test("has nothing stamped by a request: 409 for a PATCH, and a policy's job passes it by", async () => {
    const { mine, update, state, shown } = await withTwo();
    await sql`update assignments set config = '{"alias": "theirs"}' where id = ${mine.id}`;
    const answer = await update(mine.id, { applicationId: "mail", enabled: true });
    expect([answer.status, answer.body.message]).toEqual([
      409,
      `The assignment ${mine.id} is held: it was changed in the database, and not by this server, or an upgrade did not stamp it. Hosts keep what they have. Ask who administers the server to look at it, and to run certitude secrets trust. Or delete it and create it again.`,
    ]);
    expect(await state()).toMatchObject({ items: [], keep: [mine.id] });
    expect(await shown()).toMatchObject({ applicationId: "payments", version: 1 });
  });

  test("has nothing stamped by a PATCH of the application alone: it is 200, and what is held stays held", async () => {
    const { mine, update, state, shown } = await withTwo();
    await sql`update assignments set config = '{"alias": "theirs"}' where id = ${mine.id}`;
    expect((await update(mine.id, { applicationId: "mail" })).status).toBe(200);
    expect(await state()).toMatchObject({ items: [], keep: [mine.id] });
    expect(await shown()).toMatchObject({ applicationId: "mail", version: 2, heldSince: expect.any(String) });
  });
});

test("the application of an assignment orders nothing: another is no reason to hold it", async () => {
  const { mine, update, state, shown } = await withTwo();
  await sql`update assignments set application_id = 'theirs' where id = ${mine.id}`;
  expect(await state()).toMatchObject({ items: [{ id: mine.id, config: mine.config }], keep: [] });
  expect((await update(mine.id, { enabled: false })).status).toBe(200);
  expect(await shown()).toMatchObject({ applicationId: "theirs", enabled: false, heldSince: null });
});

describe("an assignment that is held", () => {
  test("is sent again once the row is as it was, which is audited", async () => {
    const { mine, state, shown, organization } = await withTwo();
    await sql`update assignments set config = config || '{"alias": "theirs"}' where id = ${mine.id}`;
    await state();
    await sql`update assignments set config = config || '{"alias": "mine"}' where id = ${mine.id}`;
    expect(await state()).toMatchObject({ items: [{ id: mine.id }], keep: [] });
    expect(await shown()).toMatchObject({ heldSince: null });
    const { items } = (await organization.admin("GET", "/audit-events?action=assignment.released")).body;
    expect(items).toMatchObject([{ targetId: mine.id }]);
  });

  test("goes by DELETE, which its host obeys", async () => {
    const { mine, organization, agent, state } = await withTwo();
    await state();
    await sql`update assignments set config = config || '{"alias": "theirs"}' where id = ${mine.id}`;
    expect((await organization.admin("DELETE", `${agent.assignments}/${mine.id}`)).status).toBe(202);
    expect(await state()).toMatchObject({ items: [], keep: [], remove: [{ id: mine.id }] });
  });
});

type Part = ReturnType<typeof sql>;
const copy = (id: string, { mine }: Two, stamp: Part) => sql`
  insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key, config, target, auto_renew, enabled, stamp)
  select organization_id, ${id}, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key, config, 'elsewhere', auto_renew, enabled, ${stamp}
  from assignments a where id = ${mine.id}`;
