import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { type Demo, fillDemo } from "#demo/demo";
import type { Handle } from "#deps";
import { call } from "../support/server/call";
import { withJobs } from "../support/server/knowledge";
import { sign } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);
/** An agent that was left half made is removed, created, given an assignment, and reports. */
const MOST_WRITES = 4;
const INTERRUPTED = new Error("interrupted");

/** A demo of the test's own, with a data directory. */
function newDemo() {
  const demo: Demo = { organizationId: Bun.randomUUIDv7(), userId: crypto.randomUUID(), email: "demo@certitude.example", base: world.url };
  const dataDir = mkdtempSync(join(world.directory, "demo-"));
  const deps = { ...world.deps, config: { ...world.deps.config, dataDir } };
  const steps: string[] = [];
  const fill = (handle: Handle = world.app.handle) => fillDemo(deps, handle, demo, (name) => steps.push(name), new AbortController().signal);
  return { ...demo, steps, fill };
}

/** Answers until `count` requests have written; then the process is as good as killed. */
function interruptAfter(count: number): Handle {
  let written = 0;
  return (request) => {
    if (written === count) throw INTERRUPTED;
    if (request.method !== "GET") written++;
    return world.app.handle(request);
  };
}

/** What a demo holds, without what differs from one to the next. */
async function contentOf({ organizationId, userId, email }: Demo) {
  const token = await sign({ sub: userId, email });
  const headers = { "x-user-id": userId, "x-organization-id": organizationId, "x-organization-role": "ORG_ADMIN" };
  async function list(path: string, ...fields: string[]) {
    const { body } = await call("GET", path, { token, headers });
    return body.items.map((item: Record<string, unknown>) => fields.map((field) => item[field])).sort();
  }
  const own = (path: string, ...fields: string[]) => list(`/organizations/${organizationId}${path}`, ...fields);
  const roots = (await own("/certificates?limit=100&q=demo+root", "id", "commonName")) as [id: string, name: string][];
  const deployments = await Promise.all(roots.map(async ([id, name]) => [name, await own(`/certificates/${id}/deployments`, "agentName", "state", "message")]));
  const [samples] = await world.sql`select count(*)::int as count from metric_samples where organization_id = ${organizationId}`;
  const [certificates] = await world.sql`select count(*)::int as count from certificates where organization_id = ${organizationId}`;
  return {
    certificates,
    deployments: deployments.sort(),
    agents: await own("/agents?limit=100", "name", "labels"),
    members: await own("/members", "email", "role", "status"),
    notices: await list("/users/me/notifications/inbox", "kind"),
    controls: await own("/ai-governance/frameworks/euaiact/controls", "ref", "status"),
    keys: await own("/ai-governance/ingest/keys", "name"),
    systems: await own("/ai-governance/systems", "key"),
    samples,
    documents: await list(`/admin/knowledge-base/documents?organizationId=${organizationId}`, "title"),
    widgets: await own("/core/widgets", "title"),
  };
}

describe("the demo", () => {
  withJobs();

  test("is filled once; the next start makes no request", async () => {
    const demo = newDemo();
    await demo.fill();
    expect(demo.steps).toEqual(["certificates", "agents", "members", "AI governance", "documents", "dashboard"]);
    await demo.fill(interruptAfter(0));
    expect(demo.steps).toHaveLength(6);
  });

  test("is complete, and nothing of it is doubled, however often its filling was interrupted", async () => {
    const [whole, interrupted] = [newDemo(), newDemo()];
    await whole.fill();
    let interruptions = 0;
    for (let isFilled = false; !isFilled; ) {
      const writes = 1 + (interruptions++ % MOST_WRITES);
      isFilled = await interrupted.fill(interruptAfter(writes)).then(
        () => true,
        (error) => {
          expect(error).toBe(INTERRUPTED);
          return false;
        },
      );
    }
    expect(interruptions).toBeGreaterThan(10);
    expect(await contentOf(interrupted)).toEqual(await contentOf(whole));
  });
});
