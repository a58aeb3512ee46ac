import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "node:net";
import { createServer } from "node:tls";
import { tokenAccess } from "#agent/identity/access";
import { createServerClient, type Report } from "#agent/server-client";
import { createTransport, Unreachable } from "#agent/transport";
import { type ConnectedAgent, newConnectedAgent } from "../support/agent/connected-agent";
import { newAuthority } from "../support/pki/authority";
import { connectTo } from "../support/server/postgres";
import { startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);

const TOKEN = `cag_${"x".repeat(43)}`;
/** As before the first signed answer. */
const TRUSTING = { judge: async () => undefined };
const clientWith = (server: string, { token = TOKEN, ca }: { token?: string; ca?: string } = {}) =>
  createServerClient({ server, access: tokenAccess(() => token, transportTo(server, ca)), trust: TRUSTING });

const transportTo = (server: string, ca: string | undefined) =>
  createTransport({
    server,
    connection: () => ({ tls: ca ? { ca } : {}, hasOwnAuthority: ca !== undefined }),
    environment: {},
    signal: new AbortController().signal,
  });

/** Why the server was not asked with success. */
async function refusalOf(asking: Promise<unknown>) {
  const error = await asking.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Unreachable)) throw new Error(`it was not refused: ${error}`);
  expect(error.message).not.toContain(TOKEN.slice(4));
  return error;
}

/** A server that answers something else than a Certitude server would. */
function serveOther(answer: () => Response) {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}

describe("asking what is desired", () => {
  test("news, and none for what is known already", async () => {
    const agent = await newConnectedAgent();
    const empty = await agent.client.fetchDesired(undefined);
    expect(empty).toEqual({ etag: expect.stringMatching(/^"[0-9a-f]{64}"$/), state: { items: [], keep: [], remove: [], keys: [], challenges: [] } });
    expect(await agent.client.fetchDesired(empty?.etag)).toBeUndefined();
    const id = await agent.assign((await agent.newRoot()).id, "root");
    const news = await agent.client.fetchDesired(empty?.etag);
    expect(news?.state.items.map((each) => each.id)).toEqual([id]);
    expect(await agent.client.fetchDesired(news?.etag)).toBeUndefined();
    await agent.end();
  });

  test("refused in words: another token, nobody there, an address that leads elsewhere, something else than a desired state", async () => {
    expect((await refusalOf(clientWith(world.url).fetchDesired(undefined))).message).toBe(
      `${world.url}/agent/assignments does not accept the agent's token (401). Was the agent deleted? Enrol it again.`,
    );
    expect((await refusalOf(clientWith("http://127.0.0.1:1").fetchDesired(undefined))).message).toStartWith("http://127.0.0.1:1 cannot be reached: ");
    const others: [Response, string][] = [
      [Response.redirect(`${world.url}/agent/assignments`), "cannot be reached"],
      [new Response("<html>"), "answered something else than a desired state. Is it a Certitude server?"],
      [Response.json({ items: [] }), "answered something else than a desired state"],
      [Response.json({ items: [{ id: "../evil" }], keep: [] }), "answered something else than a desired state"],
      [new Response(null, { status: 304 }), "answered 304."],
      [new Response("no", { status: 403 }), "answered 403."],
    ];
    for (const [answer, words] of others) {
      const server = serveOther(() => answer);
      expect((await refusalOf(clientWith(server.url).fetchDesired(undefined))).message).toContain(words);
      await server.stop();
    }
  });

  test("a server whose database is away says when to come back", async () => {
    const { server, url, sql } = startServer(world.config, { db: connectTo("postgres://postgres@127.0.0.1:1/postgres") });
    expect(await refusalOf(clientWith(url).fetchDesired(undefined))).toMatchObject({ message: `${url}/agent/assignments answered 503.`, retryAfter: 1_000 });
    await server.stop(true);
    await sql.end({ timeout: 0 });
  });

  test("over https only with an authority that is known", async () => {
    const authority = await newAuthority();
    const { pem, privateKeyPem, chain } = await authority.issueServer("localhost");
    const { hostname, port } = new URL(world.url);
    const tls = createServer({ cert: pem + chain.join(""), key: privateKeyPem }, (near) => {
      const far = connect(Number(port), hostname);
      near.on("error", () => far.destroy()).pipe(far);
      far.on("error", () => near.destroy()).pipe(near);
    });
    await new Promise<void>((resolve) => tls.listen(0, "127.0.0.1", resolve));
    const url = `https://127.0.0.1:${(tls.address() as { port: number }).port}`;
    const agent = await newConnectedAgent();
    const { token } = agent;
    expect((await refusalOf(clientWith(url, { token }).fetchDesired(undefined))).message).toMatch(
      /cannot be reached: this host trusts no authority that signed its certificate. Give that authority's PEM/,
    );
    expect(await clientWith(url, { token, ca: authority.root.pem }).fetchDesired(undefined)).toMatchObject({ state: { items: [] } });
    await agent.end();
    tls.close();
    authority.remove();
  });
});

describe("delivering reports", () => {
  const reportsOf = (ids: string[], message = "said"): Report[] => ids.map((assignmentId) => ({ assignmentId, state: "failed", message }));

  async function assignMany(agent: ConnectedAgent, count: number) {
    const root = await agent.newRoot();
    const ids: string[] = [];
    while (ids.length < count) ids.push(await agent.assign(root.id, `root-${ids.length}`));
    return ids;
  }

  test("those of unknown assignments, and those that the server does not take, hold up no other", async () => {
    const agent = await newConnectedAgent();
    const ids = await assignMany(agent, 5);
    const host = { hostname: "web-01" };
    const unknown = reportsOf([crypto.randomUUID(), crypto.randomUUID()]);
    const [refused] = reportsOf(ids.slice(-1), "\uD800");
    const good = reportsOf(ids.slice(0, -1));
    const [first, ...rest] = [...unknown, ...good];
    if (!first || !refused) throw new Error("there are reports");
    const unwanted = await agent.client.deliver([first, refused, ...rest], host);
    expect(unwanted).toEqual([first, refused, ...unknown.slice(1)]);
    for (const id of ids.slice(0, -1)) expect(await agent.historyOf(id)).toEqual(["failed: said"]);
    expect(await agent.historyOf(ids[4] ?? "")).toEqual([]);
    expect((await agent.organization.member("GET", agent.path)).body.host).toEqual(host);
    await agent.end();
  });

  test("the host's log says where not one report is taken, and where there is none", async () => {
    const agent = await newConnectedAgent();
    for (const [hostname, reports] of [["one", reportsOf([crypto.randomUUID()])] as const, ["two", []] as const]) {
      expect(await agent.client.deliver([...reports], { hostname })).toEqual([...reports]);
      expect((await agent.organization.member("GET", agent.path)).body.host).toEqual({ hostname });
    }
    await agent.end();
  });

  test("a server of the release before gets its own words, once it has refused others", async () => {
    const asked: Report[][] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        const { reports } = (await request.json()) as { reports: Report[] };
        asked.push(reports);
        const isKnown = ({ state, observedAt }: Report) => /^(installed|failed|drifted|removed)$/.test(state) && observedAt === undefined;
        return new Response(null, { status: reports.every(isKnown) ? 204 : 400 });
      },
    });
    const client = clientWith(`http://127.0.0.1:${server.port}`);
    const observedAt = "2030-01-01T00:00:00.000Z";
    const kept = { assignmentId: crypto.randomUUID(), message: "It stays." };
    const refused = { assignmentId: crypto.randomUUID(), message: "The policy forbids it." };
    const installed = { assignmentId: crypto.randomUUID() };
    expect(await client.deliver([{ ...kept, state: "kept", observedAt }])).toEqual([]);
    expect(asked).toEqual([[{ ...kept, state: "kept", observedAt }], [{ ...kept, state: "removed" }]]);
    const later: Report[] = [
      { ...refused, state: "refused", observedAt },
      { ...installed, state: "installed", observedAt },
    ];
    expect(await client.deliver(later)).toEqual([]);
    expect(asked.slice(2)).toEqual([
      [
        { ...refused, state: "failed" },
        { ...installed, state: "installed" },
      ],
    ]);
    await server.stop(true);
  });

  test("more than one request may hold are delivered in several", async () => {
    const agent = await newConnectedAgent();
    const ids = await assignMany(agent, 400);
    expect(await agent.client.deliver(reportsOf(ids, "€".repeat(1_000)))).toEqual([]); // 1.2 MB, where 1 MiB is taken
    const [first, last] = [await agent.historyOf(ids[0] ?? ""), await agent.historyOf(ids.at(-1) ?? "")];
    expect([...first, ...last].map((each) => each.length)).toEqual([1_008, 1_008]);
    await agent.end();
  });

  test("refused in words: another token, nobody there", async () => {
    expect((await refusalOf(clientWith(world.url).deliver([]))).message).toContain("/agent/reports does not accept the agent's token (401)");
    expect((await refusalOf(clientWith("http://127.0.0.1:1").deliver([]))).message).toContain("cannot be reached");
  });
});
