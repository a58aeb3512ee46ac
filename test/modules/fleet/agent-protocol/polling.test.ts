import { describe, expect, test } from "bun:test";
import type { Sql } from "#db/connect";
import { certificate, chain, importInto } from "../../../support/pki/certificates";
import { importRoot } from "../../../support/server/agents";
import { statementsDuring } from "../../../support/server/statements";
import { startServer, world } from "../../../support/server/world";
import { newPoller, PATH, SERVER } from "./pollers";

describe("GET /agent/assignments with If-None-Match", () => {
  test("200 or 304, and seen is noted every five minutes at most", async () => {
    const { organization, agent, tag } = await newPoller();
    const known = await tag();
    let now = new Date();
    const clocked = startServer(world.config, world.database, () => now);
    const seenAfter = async (minutes: number) => {
      now = new Date(now.getTime() + minutes * 60_000);
      expect((await agent.call("GET", PATH, { url: clocked.url, headers: { "if-none-match": known } })).status).toBe(304);
      return Date.parse((await organization.member("GET", agent.path)).body.lastSeenAt);
    };
    const first = await seenAfter(6);
    expect(first).toBe(now.getTime());
    expect(await seenAfter(4)).toBe(first);
    expect(await seenAfter(2)).toBe(now.getTime());
    await clocked.server.stop(true);
  });

  test("304 while it is the same, also for a weak tag or among others", async () => {
    const { organization, assign, ask, tag } = await newPoller();
    const empty = await tag();
    await assign(await importRoot(organization));
    const full = await tag();
    expect(full).toMatch(/^"[0-9a-f]{64}"$/);
    expect(full).not.toBe(empty);
    for (const known of [full, `W/${full}`, `"x", ${full}`, "*"]) {
      const answer = await ask(known);
      expect([answer.status, answer.text, answer.headers.get("etag")]).toEqual([304, "", full]);
    }
    for (const other of [empty, '"x"', ""]) expect(await ask(other)).toMatchObject({ status: 200, body: { items: [{}] } });
  });

  test("200 at once while the agent is being changed; the next poll notes that it was seen", async () => {
    const { organization, agent, ask } = await newPoller();
    const isSeen = async () => (await organization.member("GET", agent.path)).body.lastSeenAt !== null;
    const canHold = Bun.env.TEST_DATABASE_URL !== undefined; // the embedded database is one session, where nobody else changes anything meanwhile
    const poll = async () => expect((await ask()).status).toBe(200);
    async function pollWhileHeld(tx: Sql) {
      await tx`select from agents where organization_id = ${organization.id} and id = ${agent.id} for update`;
      await poll();
    }
    await (canHold ? world.sql.begin(pollWhileHeld) : poll());
    expect(await isSeen()).toBe(!canHold);
    await poll();
    expect(await isSeen()).toBe(true);
  });

  test("304 costs one statement, 200 two", async () => {
    const { organization, assign, ask, tag } = await newPoller();
    const { root, intermediate, leaf } = chain();
    const [, , leafId = ""] = await importInto(organization, root.pem, intermediate.pem, leaf.pem);
    await assign(leafId, SERVER);
    const known = await tag();
    expect(await statementsDuring(() => ask(known))).toHaveLength(1);
    expect(await statementsDuring(() => ask())).toHaveLength(2);
  });

  test("200 with a new tag after every change that matters", async () => {
    const { organization, agent, assign, update, tag } = await newPoller();
    const { root, intermediate } = chain();
    const leaf = certificate({ issuer: intermediate });
    const [leafId = ""] = await importInto(organization, leaf.pem);
    const tags = [await tag()];
    const { id } = await assign(leafId, SERVER);
    tags.push(await tag());
    await update(id, { config: { alias: "x" } });
    tags.push(await tag());
    await importInto(organization, intermediate.pem);
    tags.push(await tag());
    await importInto(organization, root.pem);
    tags.push(await tag());
    const privateKeyPem = String(leaf.privateKey.export({ type: "pkcs8", format: "pem" }));
    await organization.admin("POST", "/certificates", { body: { pem: leaf.pem, privateKeyPem } });
    tags.push(await tag());
    await update(id, { enabled: false });
    expect(await tag()).toBe(tags[0] ?? "");
    await update(id, { enabled: true });
    tags.push(await tag());
    await organization.admin("POST", `/certificates/${leafId}/revoke`, { body: {} });
    tags.push(await tag());
    await update(id, { config: { removeOnRevoke: false } });
    tags.push(await tag());
    await organization.admin("DELETE", `/certificates/${leafId}`);
    tags.push(await tag());
    await organization.admin("DELETE", `${agent.assignments}/${id}`);
    tags.push(await tag());
    expect(new Set(tags).size).toBe(tags.length);
    await agent.call("POST", "/agent/reports", { body: { reports: [{ assignmentId: id, state: "removed" }] } });
    expect(await tag()).toBe(tags[0] ?? "");
  });
});
