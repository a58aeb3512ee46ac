import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { newAgent } from "../../../support/server/agents";
import { call } from "../../../support/server/call";
import { dispatch } from "../../../support/server/dispatching";
import { desired } from "../../../support/server/fleet";
import { newJoinedHost } from "../../../support/server/hosts";
import { newStaff } from "../../../support/server/knowledge";
import { newOrganization, newUser } from "../../../support/server/people";
import { prepare } from "../../../support/server/prepare";
import { scansOf, statementsDuring } from "../../../support/server/statements";
import { startServer, world } from "../../../support/server/world";
import { control } from "../../governance/frameworks/controls";
import { runJob } from "./causes";

setDefaultTimeout(300_000);

const DAY = 86_400_000;
const after = (days: number) => new Date(Date.now() + days * DAY);

async function newRecipients(wish: { seatLimit?: number } = {}) {
  const organization = await newOrganization(wish);
  const admin = await organization.join();
  const received = async () => {
    await dispatch();
    const { items } = (await admin.call("GET", "/users/me/notifications/inbox?limit=100")).body;
    const own = items.filter(({ kind }: { kind: string }) => !kind.startsWith("certificate_"));
    return own.toReversed().map(({ kind, state }: { kind: string; state: string }) => `${kind} ${state}`);
  };
  return { organization, admin, received };
}

/** What the server does some days from now. */
async function inDays<Result>(days: number, work: (url: string) => Promise<Result>) {
  const later = startServer(world.config, world.database, () => after(days));
  const result = await work(later.url);
  await later.server.stop(true);
  return result;
}

describe("an agent", () => {
  test("that was never seen is not silent; one that was seen is after a day, not before", async () => {
    const { organization, received } = await newRecipients();
    await newAgent(organization);
    await desired(await newAgent(organization));
    await runJob("watch-agents", 0.99);
    expect(await received()).toEqual([]);
    await runJob("watch-agents", 1.01);
    await runJob("watch-agents", 1.02);
    expect(await received()).toEqual(["agent_silent open"]);
  });

  test("that goes on polling is looked at once a day, and is not silent", async () => {
    const { organization, received } = await newRecipients();
    const agent = await newAgent(organization);
    const dueIn = async () => {
      const [row] = await world.sql<{ days: number }[]>`
        select round(extract(epoch from due_at - now()) / 86400)::int as days from agent_watch where organization_id = ${organization.id} and agent_id = ${agent.id}`;
      return row?.days;
    };
    for (const days of [0, 0.4, 0.8]) await inDays(days, (url) => call("GET", "/agent/assignments", { token: agent.token, url }));
    expect(await dueIn()).toBe(1);
    await runJob("watch-agents", 1.1);
    expect([await dueIn(), await received()]).toEqual([2, []]);
  });

  test("that is deleted while it is silent has no state any more", async () => {
    const { organization, received } = await newRecipients();
    const agent = await newAgent(organization);
    await desired(agent);
    await runJob("watch-agents", 2);
    expect(await received()).toEqual(["agent_silent open"]);
    await organization.admin("DELETE", agent.path);
    expect(await received()).toEqual(["agent_silent cleared"]);
  });
});

describe("a control", () => {
  const { path } = control();

  test("is due seven days before its date and overdue after it, in UTC; a later date ends that", async () => {
    const { organization, received } = await newRecipients();
    const dueDate = (days: number) => after(days).toISOString().slice(0, 10);
    const change = (body: object) => organization.admin("PATCH", path, { body: { status: "in_progress", ...body } });
    await change({ dueDate: dueDate(8) });
    await runJob("watch-due-dates");
    expect(await received()).toEqual([]);
    for (const days of [1, 1, 8]) await runJob("watch-due-dates", days);
    expect(await received()).toEqual(["control_due open"]);
    for (const days of [9, 10]) await runJob("watch-due-dates", days);
    expect(await received()).toEqual(["control_due open", "control_overdue open"]);
    await change({ status: "not_started" });
    await runJob("watch-due-dates", 11);
    expect(await received()).toEqual(["control_due open", "control_overdue open"]);
    await change({ dueDate: dueDate(60) });
    expect(await received()).toEqual(["control_due cleared", "control_overdue cleared"]);
  });

  test("needs attention once when its evidence expires, is revoked or is retired, until it is good again", async () => {
    const { organization, received } = await newRecipients();
    const [brief, held = "", other] = await importInto(organization, certificate({ days: 5 }).pem, certificate().pem, certificate().pem);
    const evidence = (...ids: (string | undefined)[]) => ids.map((certificateId) => ({ title: "Certificate", certificateId }));
    await organization.admin("PATCH", path, { body: { status: "implemented", evidence: evidence(brief, held, other) } });
    await runJob("watch-evidence", 4.9);
    expect(await received()).toEqual([]);
    await runJob("watch-evidence", 5.1);
    await organization.admin("POST", `/certificates/${held}/revoke`, { body: { reason: "certificateHold" } });
    await runJob("watch-evidence", 5.2);
    expect(await received()).toEqual(["control_reopened open"]);
    await organization.admin("POST", `/certificates/${held}/reinstate`);
    await runJob("watch-evidence", 5.3);
    expect(await received()).toEqual(["control_reopened open"]);
    await organization.admin("PATCH", path, { body: { status: "implemented", evidence: evidence(held, other) } });
    expect(await received()).toEqual(["control_reopened cleared"]);
    await organization.admin("PATCH", path, { body: { status: "in_progress" } });
    expect(await received()).toEqual(["control_reopened cleared", "control_reopened open"]);
    await organization.admin("PATCH", path, { body: { status: "implemented" } });
    expect(await received()).toEqual(["control_reopened cleared", "control_reopened cleared"]);
    await organization.admin("DELETE", `/certificates/${other}`);
    await runJob("watch-evidence", 0.001);
    expect((await received()).at(-1)).toEqual("control_reopened open");
  });
});

describe("a credential", () => {
  test("has events 30, 7 and 1 days before it expires, each once, however late; one of a week twice, one of an hour never", async () => {
    const { organization, admin, received } = await newRecipients();
    const make = (name: string, days: number) =>
      organization.admin("POST", "/api-tokens", { body: { name, role: "ORG_MEMBER", expiresAt: after(days).toISOString() } });
    await make("long", 90);
    for (const days of [59, 60.1, 60.2, 75]) await runJob("watch-credentials", days);
    await make("brief", 1 / 24);
    for (const days of [85, 86, 89.5, 89.6]) await runJob("watch-credentials", days);
    expect(await received()).toEqual(["credential_expiring open", "credential_expiring open", "credential_expiring open"]);
    const { items } = (await admin.call("GET", "/users/me/notifications/inbox")).body;
    expect(items.map(({ data }: { data: { items: { name: string; days: number }[] } }) => `${data.items[0]?.name} ${data.items[0]?.days}`).toSorted()).toEqual([
      "long 1",
      "long 30",
      "long 7",
    ]);
    await runJob("watch-credentials", 90.1);
    expect(new Set(await received())).toEqual(new Set(["credential_expiring cleared"]));
  });

  test("of an agent is an event when an admin ends it, until its host joins again", async () => {
    const { organization, received } = await newRecipients();
    const host = await newJoinedHost(organization);
    const { body } = await organization.admin("POST", `${host.path}/credentials`, { body: { overlapSeconds: 3_600 } });
    await runJob("watch-credentials");
    expect(await received()).toEqual(["credential_expiring open"]);
    const { status } = await host.call("POST", "/agent/join", { token: body.token, body: { name: "web-01" } });
    expect([status, await received()]).toEqual([201, ["credential_expiring cleared"]]);
  });
});

test("a seat is free again when an invitation expires, or when staff raises the limit", async () => {
  const { organization, received } = await newRecipients({ seatLimit: 2 });
  const invite = async () => organization.admin("POST", "/members", { body: { email: (await newUser()).email } });
  const { body } = await invite();
  await runJob("watch-seats");
  const seats = async () => (await received()).filter((each: string) => each.startsWith("seat"));
  expect(await seats()).toEqual(["seat_limit_reached open"]);
  await world.sql`update members set invitation_expires_at = now() - interval '1 second' where organization_id = ${organization.id} and id = ${body.id}`;
  await runJob("watch-seats");
  expect(await seats()).toEqual(["seat_limit_reached cleared"]);
  await invite();
  expect(await seats()).toEqual(["seat_limit_reached cleared", "seat_limit_reached open"]);
  const raised = await (await newStaff()).call("PATCH", `/admin/organizations/${organization.id}`, { body: { seatLimit: 3 } });
  expect([raised.status, await seats()]).toEqual([200, ["seat_limit_reached cleared", "seat_limit_reached cleared"]]);
});

const LARGE = 30_000;

test("each job finds what is due among many by indexes alone", async () => {
  const { organization } = await newRecipients();
  await importInto(organization, certificate().pem);
  const owner = world.sql`select ${organization.id}::uuid, new_id()`;
  await prepare(async (tx) => {
    await tx`set local plan_cache_mode = 'force_custom_plan'`; // triggers of the embedded database's one session were planned for few rows
    const series = tx`from generate_series(1, ${LARGE}::int) i`;
    await tx`insert into agent_watch (organization_id, agent_id, due_at) ${owner}, now() + interval '1 day' ${series}`;
    await tx`insert into control_evidence (organization_id, certificate_id, control_id, due_at) ${owner}, new_id(), now() + interval '1 day' ${series}`;
    await tx`insert into controls (organization_id, control_id, framework, status, due_date) ${owner}, 'iso', 'in_progress', now() + interval '30 days' ${series}`;
    await tx`insert into credential_watch (organization_id, subject_id, credential, looked_at, due_at) ${owner}, 'API token', now(), now() + interval '1 day' ${series}`;
    await tx`insert into metric_thresholds (organization_id, id, system, metric, min) ${owner}, 's' || i, 'm', 0 ${series}`;
    await tx`insert into ai_systems (organization_id, id, key) ${owner}, 's' || i ${series}`;
    await tx`
      insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, not_before, not_after,
        is_ca, self_signed, facts, pem, search)
      select organization_id, new_id(), common_name, fingerprint_sha256 || i, subject, issuer, subject_hash, issuer_hash, not_before, not_after,
        is_ca, self_signed, facts, pem, search from certificates, generate_series(1, 3000) i where organization_id = ${organization.id}`;
    await tx`insert into notification_events (organization_id, id, kind, subject_id, told_at) ${owner}, 'agent_silent', new_id(), now() ${series}`;
    await tx`insert into alerts (organization_id, condition, subject_id) select new_id(), 'agent silence', new_id() ${series}`;
    await tx`insert into agents (organization_id, id, name, token_hash) ${owner}, 'host', sha256((${organization.id} || i)::bytea) ${series}`;
    await tx`insert into api_tokens (organization_id, id, name, role, token_hash, created_by) ${owner}, 'ci', 'ORG_MEMBER', sha256((${organization.id} || i)::bytea), '{}' ${series}`;
  });
  await prepare((sql) =>
    sql.unsafe(
      "analyze agents, agent_watch, api_tokens, controls, control_evidence, credential_watch, metric_thresholds, ai_systems, alerts, notification_events, certificates",
    ),
  );
  const tables = /\b(agent_watch|controls|control_evidence|credential_watch|metric_thresholds|alerts)\b/;
  for (const [job, table] of [
    ["watch-agents", "agent_watch"],
    ["watch-due-dates", "controls"],
    ["watch-evidence", "control_evidence"],
    ["watch-credentials", "credential_watch"],
    ["watch-metrics", "metric_thresholds"],
    ["watch-seats", "alerts"],
  ] as const) {
    const [statement] = await statementsDuring(() => runJob(job), tables);
    const scans = statement ? await scansOf(statement) : [];
    expect(scans.filter((each) => /^Seq Scan on (agent|control|credential|metric_thr|ai_|alert|notification|certificate|api_tokens)/.test(each))).toEqual([]);
    expect(scans.join("\n")).toMatch(new RegExp(`^Index( Only)? Scan using \\w+ on ${table}`, "m"));
  }
});
