import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { createKeyring } from "#crypto/keyring";
import { ALL_LEVELS, createStamps } from "#crypto/stamps";
import { MAINTENANCE, type Pool } from "#db/connect";
import { migrate } from "#db/migrate";
import { updateConnection } from "#modules/core/connections/queries";
import { policyFactsJson } from "#modules/fleet/rollouts/queries/policy-stamps";
import { reconcileRollout } from "#modules/fleet/rollouts/queries/reconcile";
import { indexEvents } from "#modules/people/audit/queries";
import { wrongCounts } from "../support/server/counts";
import { columnsOf, empty, exampleRows, fill, type Rows, readAll } from "../support/server/filled";
import { applyFirst, migrationFiles } from "../support/server/migrations";
import { withQueue } from "../support/server/populated-organization";
import { connectTo, startPostgres } from "../support/server/postgres";
import { numberIds, type Recording, replay } from "../support/server/recording";

setDefaultTimeout(300_000);
withQueue();

/** What migrations change in rows that exist, each with its reason; everything else stays to the letter. */
const CHANGED: Record<string, string[]> = {
  // 0006 numbers the changes of a control, which were known by an id before
  control_changes: ["id", "version"],
};

/** Tables that a migration takes away, each with where its rows are now; `wrongCounts` compares those with the truth. */
const REPLACED: Record<string, string> = { assignment_drifts: "0028 marks the assignments themselves" };

/** Rows of a table by its former name and columns: 0066 renames it. */
const asTellings = (rows: Rows) =>
  (rows.get("expiry_reminders") ?? []).map(({ recorded_at, ...row }): Record<string, unknown> => ({ ...row, told_at: recorded_at }));

/** What the release before this one sends to its database. `bun run record:release` makes it of the release at hand: run it at each, once it is out. */
const RECORDING = resolve(import.meta.dir, "../fixtures/previous-release.json.gz");

/** Nothing is stamped here. */
const trusting = createStamps(createKeyring([randomBytes(32)]));
trusting.trust(ALL_LEVELS);

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let sql: Pool;
let example: Rows;

beforeAll(async () => {
  postgres = await startPostgres();
  sql = connectTo(postgres.url, MAINTENANCE).$client;
  example = await exampleRows();
  example.set("expiry_tellings", asTellings(example));
});
afterAll(async () => {
  await sql.end();
  await postgres.stop();
});
beforeEach(() => empty(sql));

const pick = (row: Record<string, unknown>, names: string[]) => JSON.stringify(names.map((name) => [name, row[name]]));
const textOf = (rows: Record<string, unknown>[], names: string[]) => rows.map((row) => pick(row, names)).toSorted();

/** Each of the latest migrations, and one in five of those before, which no longer change; with CERTITUDE_EVERY_MIGRATION all of them. */
const BEGINNINGS = migrationFiles
  .map(({ name }, index) => [name, index] as const)
  .filter(([, index]) => index > 0 && (Bun.env.CERTITUDE_EVERY_MIGRATION || index % 5 === 0 || index >= migrationFiles.length - 6));

describe("a database of an earlier release, with one of everything in it", () => {
  test.each(BEGINNINGS)("keeps every row through %s and what follows", async (_, count) => {
    await applyFirst(sql, count);
    await fill(sql, example);
    const columns = await columnsOf(sql);
    const before = await readAll(sql);
    for (const table of Object.keys(REPLACED)) before.delete(table);
    for (const [table, rows] of before) expect({ table, isFilled: rows.length > 0 }).toEqual({ table, isFilled: true });

    expect(await migrate(sql)).toEqual(migrationFiles.slice(count).map((each) => each.name));
    const after = await readAll(sql);
    after.set("expiry_tellings", asTellings(after));
    for (const [table, rows] of before) {
      const kept = (columns.get(table) ?? []).map((each) => each.name).filter((name) => !CHANGED[table]?.includes(name));
      expect({ table, rows: textOf(after.get(table) ?? [], kept) }).toEqual({ table, rows: textOf(rows, kept) });
    }
  });
});

describe("0012, which takes the steps of a rollout one ring after the other", () => {
  const organizationId = Bun.randomUUIDv7();
  const certificateId = Bun.randomUUIDv7();
  const [running, rolledBack] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  const agents = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  const assignments = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  const recipe = {
    applicationId: "mail",
    certificateId,
    trustStoreType: "openssl_ca_dir",
    materialType: "trust_anchor",
    includePrivateKey: false,
    autoRenew: true,
  };

  /** Two rings of one agent each, as the release before made them: the second one's assignment is there, disabled. */
  async function makeOldRollouts() {
    const [certificate] = example.get("certificates") ?? [];
    const rows: Rows = new Map<string, Record<string, unknown>[]>([
      ["organizations", [{ id: organizationId, name: "Rolling" }]],
      ["certificates", [{ ...certificate, organization_id: organizationId, id: certificateId, status: "active" }]],
      [
        "agents",
        agents.map((id, index) => ({ organization_id: organizationId, id, name: `web-${index}`, labels: {}, token_hash: `\\x0${index}`, version: 1 })),
      ],
    ]);
    await fill(sql, rows);
    const assignment = JSON.stringify({ ...recipe, config: {} });
    for (const [id, status] of [
      [running, "running"],
      [rolledBack, "rolled_back"],
    ] as const)
      await sql`insert into rollouts (organization_id, id, name, certificate_id, assignment, rings, halt_share, success_share, status)
        values (${organizationId}, ${id}, 'Old', ${certificateId}, ${assignment}::text::jsonb, '[{"selector": null, "share": 0.5}, {"selector": null, "share": 1}]', 1, 1, ${status})`;
    for (const [index, agentId] of agents.entries()) {
      await sql`insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key, config, target, auto_renew, enabled,
          updated_at, reported_state, reported_fingerprint, reported_at)
        select ${organizationId}, ${assignments[index] ?? ""}, ${agentId}, id, 'mail', 'openssl_ca_dir', 'trust_anchor', false, '{}', '', true, ${index === 0},
          now() - interval '1 hour', case when ${index === 0} then 'installed' end, fingerprint_sha256, now() from certificates where organization_id = ${organizationId}`;
      for (const id of [running, rolledBack])
        await sql`insert into rollout_steps (organization_id, rollout_id, agent_id, assignment_id, ring, is_made)
          values (${organizationId}, ${id}, ${agentId}, ${(id === running ? assignments[index] : crypto.randomUUID()) ?? ""}, ${index + 1}, true)`;
    }
  }

  test("leaves the open ring as it is, lets the closed one wait, and ends what was rolled back", async () => {
    await applyFirst(sql, 12);
    await makeOldRollouts();
    await migrate(sql);
    const steps = () => sql`
      select ring, s.agent_id as agent, s.assignment_id is not null as taken, a.enabled from rollout_steps s
      left join assignments a on (a.organization_id, a.agent_id, a.id) = (s.organization_id, s.agent_id, s.assignment_id)
      where s.organization_id = ${organizationId} order by ring`;
    const [first, second] = agents;
    expect([...(await steps())]).toEqual([
      { ring: 1, agent: first, taken: true, enabled: true },
      { ring: 2, agent: second, taken: false, enabled: null },
    ]);
    expect([...(await sql`select id, is_busy as busy from rollouts where organization_id = ${organizationId} order by id`)]).toEqual([
      { id: running, busy: true },
      { id: rolledBack, busy: false },
    ]);

    await reconcileRollout(sql, trusting, { organizationId, actor: { type: "server" }, requestId: null }, running, new Date(), new AbortController().signal);
    expect([...(await steps())]).toEqual([
      { ring: 1, agent: first, taken: true, enabled: true },
      { ring: 2, agent: second, taken: true, enabled: true },
    ]);
  });
});

describe("0026, which counts what is there", () => {
  test("counts every certificate, assignment and read notice of a filled database", async () => {
    await applyFirst(sql, 26);
    await fill(sql, example);
    await migrate(sql);
    expect(await wrongCounts(sql)).toEqual({});
    const [counted] =
      await sql`select (select sum(change)::int from certificate_changes) as certificates, (select count(*)::int from coverage_changes) as agents`;
    expect(counted).toEqual({ certificates: expect.any(Number), agents: 1 });
  });
});

describe("the previous release beside the new schema", () => {
  test("has every statement done as before, row for row", async () => {
    await migrate(sql);
    await numberIds(sql);
    const recording: Recording = JSON.parse(gunzipSync(await Bun.file(RECORDING).bytes()).toString());
    const outcomes = await replay(sql, recording);
    const expected = recording.steps.map(({ text, count }) => ({ text: recording.texts[text], count }));
    expect(outcomes).toEqual(expected as typeof outcomes);
    expect(outcomes.length).toBeGreaterThan(150);
  });

  test("has each agent that it enrols or labels looked at by all policies", async () => {
    await migrate(sql);
    await numberIds(sql);
    const { recordedAt, texts, steps }: Recording = JSON.parse(gunzipSync(await Bun.file(RECORDING).bytes()).toString());
    const looks = ["select from audit_events where action in ('agent.created', 'agent.labels-updated')", "select from relabelled_agents"];
    const looking = looks.map((_, index) => ({ text: texts.length + index, parameters: [], count: 0 }));
    const outcomes = await replay(sql, { recordedAt, texts: [...texts, ...looks], steps: [...steps, ...looking] });
    const [events = 0, queued] = outcomes.slice(-looks.length).map((each) => ("count" in each ? each.count : 0));
    expect(events).toBeGreaterThan(0);
    expect(queued).toBe(events);
  });
});

describe("0036, which has policies look at agents whichever release writes them", () => {
  test("queues those of a filled database that get other labels, and new ones; not what stays as it is, or is queued by the writer", async () => {
    await applyFirst(sql, 36);
    await fill(sql, example);
    await sql`delete from relabelled_agents`;
    await migrate(sql);
    const take = async () => (await sql<{ id: string }[]>`delete from relabelled_agents returning agent_id as id`).map(({ id }) => id);
    const all = (await sql<{ id: string }[]>`select id from agents`).map(({ id }) => id);
    expect(all.length).toBeGreaterThan(0);
    await sql`update agents set labels = labels, last_seen_at = now()`;
    await sql`update agents set last_seen_at = now()`;
    expect(await take()).toEqual([]);
    await sql`update agents set labels = labels || '{"of": "the release before"}'`;
    expect((await take()).toSorted()).toEqual(all.toSorted());
    await sql.begin(async (tx) => {
      await tx`select set_config('certitude.queues_relabelled', 'on', true)`;
      await tx`update agents set labels = labels || '{"of": "this release"}'`;
    });
    expect(await take()).toEqual([]);
    await sql`update agents set labels = labels || '{"of": "the release before"}'`; // by the same connection
    expect((await take()).toSorted()).toEqual(all.toSorted());
    const [made] = await sql<{ id: string }[]>`
      insert into agents (organization_id, id, name) select organization_id, gen_random_uuid(), 'new' from agents limit 1 returning id`;
    expect(await take()).toEqual([made?.id ?? ""]);
  });
});

describe("0065, from which on events are written to a tail", () => {
  test("reads those of a filled database, of the release before and of this one together, each once, also once they have moved", async () => {
    await applyFirst(
      sql,
      migrationFiles.findIndex(({ name }) => name === "0065_audit_tail"),
    );
    await fill(sql, example);
    await migrate(sql);
    const read = () => sql<{ id: string }[]>`select id, organization_id, actor, action, target_id, details from audit_events order by id`;
    const filled = (await read()).length;
    expect(filled).toBeGreaterThan(0);
    const add = (table: string) => sql`
      insert into ${sql.text(table)} (organization_id, id, actor, action, target_type, target_id)
      select organization_id, new_id(), actor, action, target_type, target_id from audit_events order by id limit 1`;
    await add("audit_events"); // as the release before
    await add("audit_tail");
    await add("audit_events");
    const all = await read();
    expect(all).toHaveLength(filled + 3);
    expect(await indexEvents(sql, 1_000)).toBe(1);
    expect(await read()).toEqual(all);
    expect(await sql`select from only audit_events`).toHaveLength(filled + 3);
  });
});

describe("0061, which knows names whatever their case", () => {
  const AT = migrationFiles.findIndex(({ name }) => name === "0061_names_by_key");
  const organizationId = Bun.randomUUIDv7();
  const scope = { organizationId, actor: { type: "server" as const }, requestId: null };
  /** As the release before writes it: what has the name to the letter is kept. */
  async function add(table: string, name: string) {
    const [row] = await sql.unsafe<{ id: string }[]>(
      `insert into ${table} (organization_id, id, kind, name, config) values ($1, new_id(), 'acme', $2, '{}') on conflict (organization_id, name) do nothing returning id`,
      [organizationId, name],
    );
    return row?.id;
  }
  const keysOf = async (table: string) =>
    (
      await sql.unsafe(`select name, case name_key when 'ID ' || id then 'own' else name_key end as key from ${table} where organization_id = $1 order by id`, [
        organizationId,
      ])
    ).map(({ name, key }) => [name, key]);

  test.each(["connections", "issuers"])(
    "%s keep both of two names that are one, in a filled database and where the release before writes them",
    async (table) => {
      await applyFirst(sql, AT);
      await fill(sql, example);
      for (const name of ["Café", "CAFE\u0301", "café", "Other"]) await add(table, name);
      await migrate(sql);
      const kept = [
        ["Café", "café"],
        ["CAFE\u0301", "own"],
        ["café", "own"],
        ["Other", "other"],
      ];
      expect(await keysOf(table)).toEqual(kept);
      expect(await add(table, "Café")).toBeUndefined();
      const [later, next] = [await add(table, "OTHER"), await add(table, "Next")];
      await sql.unsafe(`update ${table} set name = 'NEXT' where id = $1`, [next ?? ""]);
      expect(await keysOf(table)).toEqual([...kept, ["OTHER", "own"], ["NEXT", "next"]]);
      await sql.unsafe(`update ${table} set name = 'Third' where id = $1`, [later ?? ""]);
      await sql.unsafe(`update ${table} set name = 'third' where id = $1`, [next ?? ""]);
      expect(await keysOf(table)).toEqual([...kept, ["Third", "third"], ["third", "own"]]);
    },
  );

  test("either of two connections with one name can be changed and renamed, not to a name that is taken", async () => {
    await applyFirst(sql, AT);
    const [first = "", second = ""] = [await add("connections", "Café"), await add("connections", "CAFÉ")];
    await migrate(sql);
    const change = (id: string, name: string, changed: string[]) =>
      updateConnection(sql, trusting, scope, { id, versions: undefined }, () => ({ name, config: {}, secrets: undefined, changed }));
    const taken = (name: string) => ({ inTheWay: `body.name is taken: another connection is named "${name}".` });
    expect(await change(second, "CAFÉ", ["config"])).toMatchObject({ version: 2 });
    expect(await change(second, "café", ["name"])).toEqual(taken("Café"));
    expect(await change(first, "Bar", ["name"])).toMatchObject({ version: 2 });
    expect(await change(first, "CAFÉ", ["name"])).toEqual(taken("CAFÉ"));
    expect(await change(second, "café", ["name"])).toMatchObject({ version: 3 });
    expect(await keysOf("connections")).toEqual([
      ["Bar", "bar"],
      ["café", "café"],
    ]);
  });
});

describe("0045, which knows the places of PEM files", () => {
  const AT = migrationFiles.findIndex(({ name }) => name === "0045_places_of_pem_files");
  /** As a release before it writes them. */
  const write = (table: "assignments" | "assignment_policies", config: object) =>
    sql.unsafe(
      `insert into ${table} (${table === "assignments" ? "agent_id, " : ""}organization_id, id, certificate_id, application_id, trust_store_type, material_type, include_private_key, config, target, auto_renew, enabled)
      select ${table === "assignments" ? "agents.id, " : ""}c.organization_id, gen_random_uuid(), c.id, 'mail', 'pem_files', 'server_certificate', false, config,
        jsonb_build_array(coalesce(config->>'trustStorePath', config->>'keychainPath'), config->>'alias')::text, true, true
      from (select * from certificates order by id limit 1) as c join agents on agents.organization_id = c.organization_id, (values ($1::text::jsonb)) as given(config)
      order by agents.id limit 1 on conflict do nothing`,
      [JSON.stringify(config)],
    );
  const targets = async (table: string) =>
    (await sql.unsafe(`select config, target from ${table} where trust_store_type = 'pem_files' order by config::text`)).map(({ config, target }) => [
      config,
      JSON.parse(target),
    ]);

  test("finds them in the rows of a filled database, where two are for the same files in the first, and in what the release before writes", async () => {
    await applyFirst(sql, AT);
    await fill(sql, example);
    await sql`delete from coverage_changes`;
    const [one, two, same, other] = [
      { preset: "postfix", alias: "1" },
      { preset: "dovecot", alias: "2", trustStorePath: "/srv/tls" },
      { preset: "squid", alias: "3" },
      { trustStorePath: "/etc/squid/tls", alias: "3" },
    ];
    for (const table of ["assignments", "assignment_policies"] as const) for (const config of [one, two, same, other]) await write(table, config);
    await sql`update assignments set id = '00000000-0000-0000-0000-000000000001' where config = ${JSON.stringify(same)}::text::jsonb`;
    const stamped = await sql`select id, target from assignment_policies p where trust_store_type = 'pem_files' order by id`;
    await migrate(sql);
    // the stamps that the policies have are still theirs
    const facts =
      await sql`select id, ${policyFactsJson(sql)}->>'target' as target from assignment_policies p where trust_store_type = 'pem_files' order by id`;
    expect(facts).toEqual(stamped);
    const known = [
      [one, ["/etc/postfix/tls", "1", "tls.crt"]],
      [two, ["/srv/tls", "2", "dovecot.pem"]],
      [same, ["/etc/squid/tls", "3", "tls.crt"]],
    ];
    expect(await targets("assignments")).toEqual([...known, [other, ["/etc/squid/tls", "3"]]]);
    expect(await targets("assignment_policies")).toEqual([...known, [other, ["/etc/squid/tls", "3", "tls.crt"]]]);

    await sql`delete from assignments where trust_store_type = 'pem_files'`;
    const presets = [{ preset: "dovecot" }, { preset: "postfix" }];
    for (const config of [...presets, ...presets, { trustStorePath: "/etc/postfix/tls" }]) await write("assignments", config);
    expect(await targets("assignments")).toEqual([
      [{ preset: "dovecot" }, ["/etc/dovecot/private", null, "dovecot.pem"]],
      [{ preset: "postfix" }, ["/etc/postfix/tls", null, "tls.crt"]],
    ]);
    await sql`update assignments set target = '[null, null]' where trust_store_type = 'pem_files'`;
    expect((await targets("assignments")).map(([, target]) => target[0])).toEqual(["/etc/dovecot/private", "/etc/postfix/tls"]);
  });
});
