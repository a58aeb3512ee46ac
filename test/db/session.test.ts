import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { Webhook } from "standardwebhooks";
import { MAINTENANCE } from "#db/connect";
import { migrate } from "#db/migrate";
import { reachDatabase } from "#db/open";
import { missingParameters } from "#db/session";
import { prepareJobs } from "#jobs/start";
import { createLog } from "#log/log";
import { addAdmin } from "#modules/people/members/queries/members";
import { createOrganization } from "#modules/people/organizations/queries";
import { saveUser } from "#modules/people/users/queries";
import { certificate } from "../support/pki/certificates";
import { call, type Wish } from "../support/server/call";
import { sign } from "../support/server/people";
import { connectTo, startPostgres } from "../support/server/postgres";
import { targetOf, viaPort } from "../support/server/proxy";
import { startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);

/** Defaults of a database, each of which changes what statements do or what their results look like. */
const HOSTILE = {
  default_transaction_isolation: "'repeatable read'",
  search_path: "decoy, public",
  bytea_output: "escape",
  DateStyle: "'SQL, DMY'",
  IntervalStyle: "sql_standard",
  TimeZone: "'Asia/Kathmandu'",
  standard_conforming_strings: "off",
  extra_float_digits: "-10",
  jit: "on",
  statement_timeout: "1",
  lock_timeout: "1",
  idle_in_transaction_session_timeout: "1",
  idle_session_timeout: "50",
};

const DECOYS = [
  "create schema decoy",
  "create table decoy.members (nothing int)",
  "create table decoy.organizations (id uuid)",
  "create function decoy.iso(timestamptz) returns text language sql as 'select ''decoy'''",
  "create function decoy.new_id() returns uuid language sql as 'select ''00000000-0000-0000-0000-000000000000''::uuid'",
];

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let server: ReturnType<typeof startServer>;

beforeAll(async () => {
  postgres = await startPostgres();
  const { $client: admin } = connectTo(postgres.url, MAINTENANCE);
  const [row] = await admin`select current_database() as name`;
  for (const each of DECOYS) await admin.unsafe(each);
  for (const [name, value] of Object.entries(HOSTILE)) await admin.unsafe(`alter database ${row?.name} set ${name} = ${value}`);
  await admin.end();
  const { $client: sql } = connectTo(postgres.url, MAINTENANCE);
  await migrate(sql);
  await sql.end();
  server = startServer(world.config, { db: connectTo(postgres.url, { max: Bun.env.TEST_DATABASE_URL ? 8 : 1 }) });
});
afterAll(async () => {
  await server.server.stop(true);
  await server.sql.end({ timeout: 1 });
  await postgres.stop();
});

/** An organization in the hostile database. */
async function newOrganization(seatLimit?: number) {
  const id = Bun.randomUUIDv7();
  const by = { actor: { type: "command-line" as const }, requestId: null };
  const userId = crypto.randomUUID();
  const email = `${userId}@people.example`;
  await saveUser(server.sql, { userId, email, name: null });
  await createOrganization(server.sql, { id, name: `Organization ${id}`, seatLimit }, by);
  await addAdmin(server.sql, server.deps.stamps, { ...by, organizationId: id }, { userId, email });
  const token = await sign({ sub: userId, email });
  const headers = { "x-organization-id": id, "x-organization-role": "ORG_ADMIN" };
  const ask = (method: string, path: string, wish: Wish = {}) => call(method, `/organizations/${id}${path}`, { url: server.url, token, ...wish, headers });
  return Object.assign(ask, { id });
}

describe("a database with defaults of its own", () => {
  test("201 for exactly as many of twenty racing invitations as there are seats", async () => {
    const organization = await newOrganization(5);
    const invite = () => organization("POST", "/members", { body: { email: `${crypto.randomUUID()}@people.example` } });
    const answers = await Promise.all(Array.from({ length: 20 }, invite));
    expect(answers.map((each) => each.status).toSorted()).toEqual([...Array(4).fill(201), ...Array(16).fill(403)]);
  });

  test("2xx with the moments, numbers and bytes that went in", async () => {
    const organization = await newOrganization();
    const recordedAt = new Date(Date.now() - 60_000).toISOString();
    await organization("POST", "/certificates", { body: { pem: certificate({ isCa: true }).pem } });
    const { body } = await organization("GET", "/certificates");
    expect(body.items).toMatchObject([{ id: expect.stringMatching(/^[0-9a-f-]{14}7/), notAfter: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12,}Z$/) }]);

    const { body: ingest } = await organization("POST", "/ai-governance/ingest/keys", { body: { name: "Collectors" } });
    const batch = JSON.stringify({ system: "scoring", samples: [{ metric: "accuracy", value: 0.1234567890123, recordedAt }] });
    const [id, at] = [crypto.randomUUID(), new Date()];
    const signature = new Webhook(ingest.key).sign(id, at, batch); // the server unseals the key to check it
    const headers = { "webhook-id": id, "webhook-timestamp": `${Math.floor(at.getTime() / 1_000)}`, "webhook-signature": signature };
    const sent = await call("POST", `/organizations/${organization.id}/ai-governance/ingest/metrics`, {
      url: server.url,
      raw: batch,
      headers: { ...headers, "content-type": "application/json" },
    });
    expect(sent).toMatchObject({ status: 202, body: { accepted: 1 } });
    const [row] = await server.sql`select value::text as value, recorded_at = ${recordedAt}::timestamptz as "isExact" from metric_samples`;
    expect(row).toEqual({ value: "0.1234567890123", isExact: true });
  });

  test("keeps none of them in a session, whatever the connection string asks for", async () => {
    const url = new URL(postgres.url);
    url.searchParams.set(
      "options",
      Object.keys(HOSTILE)
        .map((name) => `-c ${name}=${HOSTILE[name as keyof typeof HOSTILE].replaceAll(/[' ]/g, "")}`)
        .slice(2, 4)
        .join(" "),
    );
    const { $client: sql } = connectTo(url.href, { max: 1 });
    expect(await missingParameters(sql)).toEqual([]);
    await sql.end();
  });

  test("serves the job queue", async () => {
    await prepareJobs(server.deps);
    const id = crypto.randomUUID();
    await server.sql.begin((tx) => server.deps.queue.send(tx, "index-document", id, { documentId: id }));
    expect(await server.deps.queue.isPending(server.sql, "index-document", id)).toBe(true);
    await server.deps.queue.stop();
  });
});

/** Passes a connection on, but drops what a session asks for at its start, as a pooler does that was told to ignore it. */
async function startPooler(url: string) {
  const pooler = createServer((near) => {
    const far = connect(targetOf(url));
    near.once("data", (startup) => {
      const asked = startup.toString("latin1").slice(8).split("\0");
      const kept = [...asked.slice(0, 4), "statement_timeout", "0"].join("\0"); // a busy machine does nothing in the hostile millisecond
      const packet = Buffer.from(`\0\0\0\0${startup.toString("latin1", 4, 8)}${kept}\0\0`, "latin1");
      packet.writeInt32BE(packet.length);
      far.write(packet);
      near.on("data", (data) => far.write(data));
    });
    far.on("data", (data) => near.write(data));
    for (const [each, other] of [
      [near, far],
      [far, near],
    ] as const)
      each.on("error", () => {}).on("close", () => other.destroy());
  });
  pooler.listen(0, "127.0.0.1");
  await once(pooler, "listening");
  return { url: viaPort(url, (pooler.address() as AddressInfo).port), stop: () => pooler.close() };
}

describe("a pooler that drops what a session asks for", () => {
  test("is named in a sentence, with what is missing", async () => {
    const pooler = await startPooler(postgres.url);
    const reached = reachDatabase({ databaseUrl: pooler.url, dataDir: "" }, createLog("silent"), MAINTENANCE).then(
      ({ stop }) => stop(),
      (error: Error) => error.message,
    );
    const expected = Bun.env.TEST_DATABASE_URL ? expect.stringContaining("DateStyle = 'ISO, MDY', IntervalStyle = 'postgres'") : undefined; // the embedded one reads no defaults
    expect(await reached).toEqual(expected);
    pooler.stop();
  });
});
