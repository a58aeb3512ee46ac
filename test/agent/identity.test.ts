import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keyAccess } from "#agent/identity/access";
import { type Identity, openIdentityFiles } from "#agent/identity/identity-files";
import { joinServer } from "#agent/identity/join";
import { createTrust } from "#agent/identity/trust";
import { createServerClient } from "#agent/server-client";
import { type Send, Unreachable, Untrusted } from "#agent/transport";
import { createLog } from "#log/log";
import { transportTo } from "../support/agent/connected-agent";
import { anAssignment, importRoot, newAgent } from "../support/server/agents";
import { newJoinToken } from "../support/server/hosts";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);

const HOUR_MS = 3_600_000;
const scratch = mkdtempSync(join(tmpdir(), "certitude-identity-"));
afterAll(() => rmSync(scratch, { recursive: true }));

let organization: TestOrganization;
beforeEach(async () => {
  organization = await newOrganization();
});

const send = transportTo(world.url);

/** A host with a state directory of its own; `by` stands between it and the server. */
async function newJoined({ by = send, token }: { by?: Send; token?: string } = {}) {
  const directory = mkdtempSync(join(scratch, "host-"));
  const files = openIdentityFiles(directory);
  const shown = token ?? (await newJoinToken(organization)).token;
  const identity = await joinServer({ server: world.url, token: shown, name: "web-01", facts: { platform: "linux" } }, files, by);
  return { directory, files, identity, ...connect(files, identity, by) };
}

/** A new process of the agent, as it finds its state directory. */
function connect(files: ReturnType<typeof openIdentityFiles>, identity: Identity, by: Send = send) {
  const said: { msg: string; level: string; reason?: string; clockOffsetSeconds?: number }[] = [];
  const log = createLog("info", { write: (text) => void said.push(JSON.parse(text)) });
  const access = keyAccess({ identity, save: files.saveIdentity, send: by, log });
  return { said, access, client: createServerClient({ server: world.url, access, trust: createTrust({ files, ask: access.ask, log }) }) };
}

async function refusalOf(asking: Promise<unknown>): Promise<Error> {
  const error = await asking.then(() => undefined).catch((reason) => reason);
  if (!(error instanceof Unreachable)) throw new Error(`it was not refused: ${error}`);
  return error;
}

const assign = async (agentId: string) => organization.admin("POST", `/agents/${agentId}/assignments`, { body: anAssignment(await importRoot(organization)) });

describe("a host that joins", () => {
  test("has its key, its credential and the server's key in files for itself alone, and is asked for no token any more", async () => {
    const { directory, files, identity, client } = await newJoined();
    await assign(identity.agentId);
    expect((await client.fetchDesired(undefined))?.state.items).toHaveLength(1);
    for (const name of ["identity.json", "trusted-key.json"]) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    expect(existsSync(join(directory, "joining.json"))).toBe(false);
    expect((await files.readIdentity())?.agentId).toBe(identity.agentId);
    const { body } = await organization.member("GET", `/agents/${identity.agentId}`);
    expect([body.name, body.access, body.host]).toEqual(["web-01", "key", { platform: "linux" }]);
  });

  test("and whose answer was lost joins again with the same key, without a second use of the token", async () => {
    const directory = mkdtempSync(join(scratch, "lost-"));
    const files = openIdentityFiles(directory);
    const { id, token } = await newJoinToken(organization);
    const losing: Send = async (request) => {
      const answer = await send(request);
      if (request.path === "/agent/join") throw new Unreachable("cut");
      return answer;
    };
    const wish = { server: world.url, token, name: "web-01", facts: {} };
    expect((await refusalOf(joinServer(wish, files, losing))).message).toBe("cut");
    const { agentId } = await joinServer(wish, files, send);
    expect((await organization.member("GET", "/agents")).body.items.map((each: { id: string }) => each.id)).toEqual([agentId]);
    expect((await organization.admin("GET", `/join-tokens/${id}`)).body.uses).toBe(1);
  });

  test("gets the reason in words: a token that is unknown, or used up; a server that is none", async () => {
    const files = openIdentityFiles(mkdtempSync(join(scratch, "refused-")));
    const wish = (token: string) => ({ server: world.url, token, name: "web-01", facts: {} });
    expect((await refusalOf(joinServer(wish(`caj_${"x".repeat(43)}`), files, send))).message).toContain(
      "does not know this token (401): it was mistyped or deleted",
    );
    const { token } = await newJoinToken(organization);
    await newJoined({ token });
    expect((await refusalOf(joinServer(wish(token), files, send))).message).toContain("(403). This join token was used 1 time, as often as it may be.");
    const none: Send = async () => new Response("no", { status: 404 });
    expect((await refusalOf(joinServer(wish(token), files, none))).message).toContain("it is no Certitude server");
  });

  test("is not an agent by an answer that no request could use, and keeps its own key whatever the answer says", async () => {
    const { token } = await newJoinToken(organization);
    const files = openIdentityFiles(mkdtempSync(join(scratch, "odd-")));
    const wish = { server: world.url, token, name: "web-01", facts: {} };
    const answering =
      (more: object): Send =>
      async (request) => {
        const answer = await send(request);
        return answer.status === 201 ? Response.json(Object.assign({}, await answer.json(), more), { status: 201 }) : answer;
      };
    expect((await refusalOf(joinServer(wish, files, answering({ credential: "a\nb" })))).message).toContain("answered something else than a credential");
    expect(await files.readIdentity()).toBeUndefined();
    const again = { ...wish, token: (await newJoinToken(organization)).token };
    const identity = await joinServer(again, files, answering({ privateKey: "theirs", server: "https://elsewhere.example" }));
    expect([identity.server, identity.privateKey.includes("PRIVATE KEY")]).toEqual([world.url, true]);
  });

  test("in place of an agent with a long-lived token: the same agent, whose token ends", async () => {
    const agent = await newAgent(organization, { name: "old" });
    const { identity, client } = await newJoined({ token: agent.token });
    expect([identity.agentId, identity.name]).toEqual([agent.id, "old"]);
    expect(await client.fetchDesired(undefined)).toBeDefined();
    expect((await agent.call("GET", "/agent/assignments")).status).toBe(401);
  });

  test("whose identity is damaged says so, and does not go on without", async () => {
    const { directory, files } = await newJoined();
    writeFileSync(join(directory, "identity.json"), "{");
    expect(files.readIdentity()).rejects.toThrow(/identity\.json is damaged\. .* join again/);
  });
});

describe("the credential", () => {
  test("is renewed when half of its life is over, and kept; the server's absence then ends nothing", async () => {
    const { files, identity } = await newJoined();
    const aging = { ...identity, expiresAt: new Date(Date.now() + 11 * HOUR_MS).toISOString() };
    const { client, said } = connect(files, aging);
    await client.fetchDesired(undefined);
    const kept = await files.readIdentity();
    expect(kept?.credential).not.toBe(identity.credential);
    expect(said.map(({ msg }) => msg)).toEqual(["credential renewed"]);
    await connect(files, kept ?? identity).client.fetchDesired(undefined);
    expect((await files.readIdentity())?.credential).toBe(kept?.credential ?? "");
  });

  test.each([
    ["a line end", { credential: "cac_x\r\nx: y" }],
    ["no text", { credential: { toString: 1 } }],
    ["no end", { expiresAt: "soon" }],
    ["a name of two lines", { name: "web\n01" }],
  ])("that has %s is not kept: the one before goes on, and the next good one takes its place", async (_what, spoil) => {
    const { files, identity } = await newJoined();
    const aging = { ...identity, expiresAt: new Date(Date.now() + 11 * HOUR_MS).toISOString() };
    await files.saveIdentity(aging);
    const spoiling: Send = async (request) => {
      const answer = await send(request);
      return request.path === "/agent/credentials" ? Response.json(Object.assign({}, await answer.json(), spoil), { status: 201 }) : answer;
    };
    const { client, said } = connect(files, aging, spoiling);
    expect(await client.fetchDesired(undefined)).toBeDefined();
    expect(said.map(({ msg }) => msg)).toEqual(["the server answered with a credential that no request can carry: it is not kept"]);
    expect(await files.readIdentity()).toEqual(aging);
    expect(await connect(files, aging).client.fetchDesired(undefined)).toBeDefined();
    expect((await files.readIdentity())?.credential).not.toBe(identity.credential);
  });

  test("that an earlier release has kept though no request can carry it is renewed by the key alone", async () => {
    const { files, identity } = await newJoined();
    const stuck = { ...identity, credential: "cac_x\r\nx: y" };
    expect(await connect(files, stuck).client.fetchDesired(undefined)).toBeDefined();
    expect((await files.readIdentity())?.credential).toMatch(/^cac_[\w-]{43}$/);
  });

  test("that the server does not know any more, because it was restored from a backup, is renewed by the key alone", async () => {
    const { identity, client } = await newJoined();
    await world.sql`delete from agent_credentials where agent_id = ${identity.agentId}`;
    expect(await client.fetchDesired(undefined)).toBeDefined();
  });

  test("ends with the agent: refused in words", async () => {
    const { identity, client } = await newJoined();
    await organization.admin("DELETE", `/agents/${identity.agentId}`);
    expect((await refusalOf(client.fetchDesired(undefined))).message).toContain(
      "accepts neither the agent's credential nor its key (401). Was the agent deleted",
    );
  });

  test.each([
    ["6 years ahead of", 6 * 365 * 24],
    ["6 years behind", -6 * 365 * 24],
    ["2 hours ahead of", 2],
  ])("serves a host whose clock is %s the server's, and says so", async (words, hours) => {
    const { identity, files } = await newJoined();
    const now = new Date(Date.now() - hours * HOUR_MS);
    const other = startServer(world.config, world.database, () => now);
    const elsewhere = transportTo(other.url);
    // The runtime writes Date by the machine's clock: the server's own is put in its place.
    const dated: Send = async (request) => {
      const answer = await elsewhere(request);
      answer.headers.set("date", now.toUTCString());
      return answer;
    };
    const { client, said } = connect(files, { ...identity, expiresAt: new Date(Date.now() + 1_000 * 24 * 365 * HOUR_MS).toISOString() }, dated);
    expect(await client.fetchDesired(undefined)).toBeDefined();
    expect(await client.fetchDesired(undefined)).toBeDefined();
    const [first, ...rest] = said.filter(({ msg }) => msg.includes("clock"));
    expect([first?.msg, rest]).toEqual([`this host's clock is ${words} the server's: set it. Requests are signed by the server's time meanwhile`, []]);
    await other.server.stop(true);
  });
});

describe("a desired state", () => {
  /** What the server answered to the last poll, to be played back or changed. */
  function spoiling(change: (answer: Response, content: string) => Response | Promise<Response>): Send {
    return async (request) => {
      const answer = await send(request);
      if (!request.path.startsWith("/agent/assignments")) return answer;
      return change(answer, await answer.text());
    };
  }
  const copyOf = ({ status, headers }: Response, content: string, more: Record<string, string | null> = {}) => {
    const copied = new Headers(headers);
    for (const [name, value] of Object.entries(more)) value === null ? copied.delete(name) : copied.set(name, value);
    return new Response(status === 304 ? null : content, { status, headers: copied });
  };

  test("that was changed on its way, or is not signed, is refused; of a 304 too", async () => {
    const { files, identity, client } = await newJoined();
    await assign(identity.agentId);
    const known = (await client.fetchDesired(undefined))?.etag;
    const unsigned = { signature: null, "signature-input": null };
    const spoilt: [(answer: Response, content: string) => Response, RegExp, (string | undefined)?][] = [
      [(answer, content) => copyOf(answer, content.replace("payments", "paymentz")), /was changed after it was signed/],
      [
        (answer, content) =>
          copyOf(answer, content, {
            "certitude-state": String(answer.headers.get("certitude-state")).replace(/tag="./, (begin) => (begin.endsWith("0") ? 'tag="1' : 'tag="0')),
          }),
        /was changed after|not taken/,
      ],
      [(answer, content) => copyOf(answer, content, unsigned), /is not signed, as those before were\. .* remove .*trusted-key\.json/],
      [(answer, content) => copyOf(answer, content, unsigned), /is not signed/, known],
      [(answer) => new Response(null, { status: 304, headers: answer.headers }), /was changed after it was signed/, '"other"'],
    ];
    for (const [change, words, etag] of spoilt) {
      const error = await refusalOf(connect(files, identity, spoiling(change)).client.fetchDesired(etag));
      expect(error).toBeInstanceOf(Untrusted);
      expect(error.message).toMatch(words);
    }
    expect(await client.fetchDesired(known)).toBeUndefined();
  });

  test("of before is refused when it is played back, whether in full or as a 304", async () => {
    const { files, identity, client } = await newJoined();
    const answers: Response[] = [];
    const recording = spoiling((answer, content) => {
      answers.push(copyOf(answer, content));
      return copyOf(answer, content);
    });
    const known = await connect(files, identity, recording).client.fetchDesired(undefined);
    await connect(files, identity, recording).client.fetchDesired(known?.etag);
    await assign(identity.agentId);
    for (const old of answers) {
      const playing: Send = async () => old;
      const error = await refusalOf(connect(files, identity, playing).client.fetchDesired(known?.etag));
      expect(error.message).toMatch(/answers another request: an old one was played back/);
    }
    expect((await client.fetchDesired(known?.etag))?.state.items).toHaveLength(1);
  });

  test("of another agent is refused, though the server has signed it", async () => {
    const [one, other] = [await newJoined(), await newJoined()];
    const { client } = connect(one.files, other.identity);
    const error = await refusalOf(client.fetchDesired(undefined));
    expect(error.message).toContain(`is for the agent ${other.identity.agentId}, and this host is ${one.identity.agentId}`);
  });

  test("is taken through any number of rotations of the key, also by a host that was away meanwhile", async () => {
    const { files, identity, client } = await newJoined();
    const before = (await files.readTrustedKey())?.publicKey;
    for (let count = 0; count < 3; count++) await organization.admin("POST", "/signing-keys");
    expect(await client.fetchDesired(undefined)).toBeDefined();
    const { items } = (await organization.member("GET", "/signing-keys")).body;
    expect([(await files.readTrustedKey())?.publicKey, items.at(-1).publicKey]).toEqual([items[0].publicKey, before]);
    expect(await connect(files, identity).client.fetchDesired(undefined)).toBeDefined();
  });

  test("is refused when it is signed with a key that none endorses: written into the database, or of a server set up again", async () => {
    const { files, identity } = await newJoined();
    const before = await files.readTrustedKey();
    await world.sql`delete from signing_keys where organization_id = ${organization.id}`;
    const { client, said } = connect(files, identity);
    const error = await refusalOf(client.fetchDesired(undefined));
    expect(error.message).toMatch(/which the trusted key .* does not endorse\. .* remove .*trusted-key\.json/);
    expect(await files.readTrustedKey()).toEqual(before);
    expect(said).toEqual([]);
    rmSync(files.trustedKeyPath);
    expect(await client.fetchDesired(undefined)).toBeDefined();
    expect(said.map(({ msg }) => msg)).toEqual(["the server's key is trusted from now on"]);
    expect(readFileSync(files.trustedKeyPath, "utf8")).toContain(identity.agentId);
  });
});
