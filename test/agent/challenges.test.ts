import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { chownSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { makeAlpnCertificate, serverNameOf } from "#agent/challenges/alpn-certificate";
import { createListeners } from "#agent/challenges/listeners";
import { showChallenges } from "#agent/challenges/show";
import type { Policy } from "#agent/policy/policy";
import { Unreachable } from "#agent/transport";
import { createLog } from "#log/log";
import type { HostChallenge, HostProof } from "#modules/issuance/requests/schema/host-keys";
import { newAgentHost } from "../support/agent/agent-host";
import { holding } from "../support/agent/policies";
import { freePort } from "../support/pki/tls-servers";

const PLACE = ".well-known/acme-challenge";
const THUMBPRINT = "9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI";

const challenge = (proof: HostProof, rest: object = {}): HostChallenge => ({
  id: crypto.randomUUID(),
  requestId: crypto.randomUUID(),
  name: "www.certitude.example",
  token: crypto.randomUUID(),
  thumbprint: THUMBPRINT,
  isShown: false,
  proof,
  ...rest,
});

/** A host with a webroot, and what its agent says of challenges. */
async function newHost() {
  const agent = await newAgentHost();
  const webroot = agent.pathOf("www");
  mkdirSync(webroot);
  const listeners = createListeners();
  let now = Date.parse("2030-01-01T00:00:00Z");
  let isReachable = true;
  async function show(challenges: HostChallenge[] | undefined, { isAway = false, isOnce = false, policy = { webroots: [webroot] } as Policy } = {}) {
    const reports: object[] = [];
    const client = {
      reportChallenges: async (_: string, given: object[]) => {
        if (!isReachable) throw new Unreachable("away");
        return void reports.push(...given);
      },
    };
    const { host, state } = agent;
    const work = {
      host,
      state,
      listeners,
      client,
      isOnce,
      policy: holding(policy),
      log: createLog("silent"),
      clock: () => new Date(now),
      isDryRun: false,
      ignoreBackoff: false,
    };
    const { failed, unreachable } = await showChallenges({ ...(challenges && { challenges }) }, work, isAway);
    return { failed, reports, ...(unreachable && { unreachable }) };
  }
  return {
    agent,
    webroot,
    show,
    inWebroot: (rest: object = {}) => challenge({ type: "http-01", webroot }, rest),
    pathOf: ({ token }: HostChallenge) => `${webroot}/${PLACE}/${token}`,
    left: () => readdirSync(webroot),
    setReachable: (isIt: boolean) => {
      isReachable = isIt;
    },
    wait: (milliseconds: number) => {
      now += milliseconds;
    },
    end() {
      listeners.close();
      agent.remove();
    },
  };
}

const saying = (message: unknown) => ({ failed: 1, reports: [expect.objectContaining({ message })] });

describe("an answer in a webroot", () => {
  test("is the token and the account's thumbprint for everyone to read, put back where it is damaged, and gone with its directories", async () => {
    const { show, inWebroot, pathOf, left, end } = await newHost();
    const [one, other] = [inWebroot(), inWebroot()];
    expect(await show([one, other])).toEqual({
      failed: 0,
      reports: [
        { id: one.id, state: "shown" },
        { id: other.id, state: "shown" },
      ],
    });
    expect(readFileSync(pathOf(one), "utf8")).toBe(`${one.token}.${THUMBPRINT}`);
    expect(lstatSync(pathOf(one)).mode & 0o777).toBe(0o644);
    writeFileSync(pathOf(one), "else");
    expect(await show([{ ...one, isShown: true }])).toEqual({ failed: 0, reports: [] });
    expect(readFileSync(pathOf(one), "utf8")).toBe(`${one.token}.${THUMBPRINT}`);
    expect(existsSync(pathOf(other))).toBe(false);
    expect(await show(undefined)).toEqual({ failed: 0, reports: [] }); // a server of the release before
    expect(left()).toEqual([]);
    end();
  });

  test("leaves directories that were there before, and those in which others have put something meanwhile", async () => {
    const { show, inWebroot, webroot, end } = await newHost();
    mkdirSync(`${webroot}/.well-known`);
    await show([inWebroot()]);
    writeFileSync(`${webroot}/${PLACE}/of-certbot`, "theirs");
    await show([]);
    expect(readdirSync(`${webroot}/${PLACE}`)).toEqual(["of-certbot"]);
    end();
  });

  test("is completed or removed by the next start of an agent that was killed at any step", async () => {
    const { agent, show, inWebroot, webroot, pathOf, left, end } = await newHost();
    const asked = inWebroot();
    const directory = `${webroot}/${PLACE}`;
    async function keep(...kept: Parameters<typeof agent.state.challenges.note>) {
      agent.state.challenges.note(...kept);
      await agent.state.challenges.flush();
    }
    async function forget() {
      agent.state.challenges.forget(asked.id);
      await agent.state.challenges.flush();
    }
    const steps = [
      () => keep({ id: asked.id, path: pathOf(asked) }, [`${webroot}/.well-known`, directory]),
      () => mkdirSync(`${webroot}/.well-known`),
      () => mkdirSync(directory),
      () => writeFileSync(`${directory}/.${asked.token}.certitude-tmp`, "half"),
      () => renameSync(`${directory}/.${asked.token}.certitude-tmp`, pathOf(asked)),
      () => keep({ id: asked.id, path: pathOf(asked), since: 1 }),
      () => rmSync(pathOf(asked)),
      forget,
      () => rmdirSync(directory),
    ];
    for (const until of steps.keys())
      for (const next of [[asked], []]) {
        for (const step of steps.slice(0, until + 1)) await step();
        await agent.restart();
        expect(await show(next)).toMatchObject({ failed: 0 });
        expect(existsSync(pathOf(asked))).toBe(next.length > 0);
        await agent.restart();
        await show([]);
        expect(left()).toEqual([]);
      }
    end();
  });

  test("stays for a day while the server is away, and nothing new is answered then", async () => {
    const { show, inWebroot, pathOf, left, wait, end } = await newHost();
    const [asked, later] = [inWebroot(), inWebroot()];
    await show([asked]);
    expect(await show([asked, later], { isAway: true })).toEqual({ failed: 0, reports: [] });
    expect([existsSync(pathOf(asked)), existsSync(pathOf(later))]).toEqual([true, false]);
    wait(86_400_001);
    await show([asked], { isAway: true });
    expect(left()).toEqual([]);
    end();
  });

  test("is never written over a file of others, nor through a link", async () => {
    const { agent, show, inWebroot, webroot, pathOf, end } = await newHost();
    const asked = inWebroot();
    mkdirSync(`${webroot}/${PLACE}`, { recursive: true });
    writeFileSync(pathOf(asked), "theirs");
    expect(await show([asked])).toEqual(saying(expect.stringContaining("is there already, and not of this agent's making")));
    await show([]);
    expect(readFileSync(pathOf(asked), "utf8")).toBe("theirs");
    const second = agent.pathOf("second");
    mkdirSync(second);
    mkdirSync(agent.pathOf("elsewhere/acme-challenge"), { recursive: true });
    symlinkSync(agent.pathOf("elsewhere"), `${second}/.well-known`);
    const policy = { webroots: [second] };
    expect(await show([challenge({ type: "http-01", webroot: second })], { policy })).toEqual(
      saying(expect.stringContaining("is a symbolic link. It is not followed")),
    );
    expect(readdirSync(agent.pathOf("elsewhere/acme-challenge"))).toEqual([]);
    end();
  });

  test("goes where the webroot really is, and only if the host permits that; a link of another user on the way is not followed", async () => {
    const { agent, show, webroot, end } = await newHost();
    const [link, ours] = [agent.pathOf("link"), agent.pathOf("ours")];
    symlinkSync(agent.pathOf(), link);
    mkdirSync(ours);
    const moving = challenge({ type: "http-01", webroot: `${link}/ours` });
    expect(await show([moving])).toEqual(saying(expect.stringContaining(`policy allow --webroot ${ours}`)));
    const policy = { webroots: [agent.pathOf()] };
    expect(await show([moving], { policy })).toMatchObject({ failed: 0 });
    rmSync(link);
    mkdirSync(agent.pathOf("moved/ours"), { recursive: true });
    symlinkSync(agent.pathOf("moved"), link);
    expect(await show([moving], { policy })).toMatchObject({ failed: 0 });
    expect([ours, agent.pathOf("moved/ours")].map((each) => existsSync(`${each}/${PLACE}/${moving.token}`))).toEqual([false, true]);
    expect(await show([challenge({ type: "http-01", webroot: "/proc/self/cwd" })], { policy: { webroots: ["/"] } })).toMatchObject({ failed: 1 });
    const asked = challenge({ type: "http-01", webroot });
    mkdirSync(`${webroot}/.well-known`);
    symlinkSync("/etc", `${webroot}/.well-known/acme-challenge`);
    chownSync(`${webroot}/.well-known`, 65_534, 65_534);
    expect(await show([asked])).toMatchObject({ failed: 1 });
    expect(existsSync(`/etc/${asked.token}`)).toBe(false);
    end();
  });

  test.each<[string, object]>([
    ["a token with a path", { token: "../../../etc/cron.d/evil" }],
    ["a token that is short", { token: "index" }],
    ["a token that no file can be called by", { token: "x".repeat(201) }],
    ["a thumbprint that is none", { thumbprint: "<script>alert(1)</script>" }],
    ["a thumbprint with a line of its own", { thumbprint: `${THUMBPRINT}\n* * * * * root sh` }],
    ["a name that is none", { name: "a b" }],
    ["a proof that no server knows yet", { proof: { type: "http-02" } }],
    ["a webroot that is no path", { proof: { type: "http-01", webroot: "www" } }],
  ])("is not written for %s", async (_, rest) => {
    const { show, inWebroot, left, end } = await newHost();
    expect(await show([inWebroot(rest)], { policy: { webroots: ["/"] } })).toMatchObject({ failed: 1, reports: [{ state: "failed" }] });
    expect(left()).toEqual([]);
    end();
  });
});

describe("as many challenges as a server that was taken over likes", () => {
  /** The bytes that this process has written until now. */
  const written = () => Number(/^wchar: (\d+)/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);

  /** What is written for so many challenges: as they come, at the next pass, and as they go. */
  async function costOf(count: number, policy: Policy) {
    const { show, inWebroot, left, end } = await newHost();
    const challenges = Array.from({ length: count }, () => inWebroot());
    const before = written();
    for (const asked of [challenges, challenges, []]) await show(asked, { policy });
    const cost = written() - before;
    expect(left()).toEqual([]);
    end();
    return cost;
  }

  test.each<[string, Policy]>([
    ["refused", {}],
    ["answered", { webroots: ["/"] }],
  ])("%s, cost as much as they are, not their square", async (_, policy) => {
    const [few, many] = [await costOf(200, policy), await costOf(1_600, policy)];
    expect(many / few).toBeLessThan(12);
  });
});

describe("an answer by the agent itself", () => {
  test("needs a host that permits the port, and an agent that stays; why not is reported once", async () => {
    const { show, setReachable, end } = await newHost();
    const port = await freePort();
    const asked = challenge({ type: "http-01", address: "127.0.0.1", port });
    setReachable(false);
    expect(await show([asked], { policy: {} })).toMatchObject({ failed: 1, unreachable: { message: "away" } });
    setReachable(true);
    const refused = await show([asked], { policy: {} });
    expect(refused).toEqual(saying(expect.stringContaining(`policy allow --challenge-port ${port}`)));
    expect(await show([asked], { policy: {} })).toEqual({ failed: 1, reports: [] });
    const policy = { challengePorts: [`${port}`] };
    expect(await show([asked], { policy, isOnce: true })).toEqual(saying(expect.stringContaining("this is one pass (--once)")));
    expect(await show([asked], { policy })).toMatchObject({ failed: 0, reports: [{ state: "shown" }] });
    const other = challenge({ type: "tls-alpn-01", address: "127.0.0.1", port });
    expect(await show([asked, other], { policy })).toMatchObject({ failed: 1, reports: [{}, { message: expect.stringContaining("or by dns-01") }] });
    const url = `http://127.0.0.1:${port}/${PLACE}/${asked.token}`;
    expect(await (await fetch(url)).text()).toBe(`${asked.token}.${THUMBPRINT}`);
    await show([asked], { policy: {} }); // the host permits it no more
    await expect(fetch(url)).rejects.toThrow();
    end();
  });

  test("of an address that the host has not is said in words", async () => {
    const { show, end } = await newHost();
    const asked = challenge({ type: "http-01", address: "192.0.2.1", port: 8_080 });
    expect(await show([asked], { policy: { challengePorts: ["8080"] } })).toEqual(saying("This host has no address 192.0.2.1. Correct proof.address."));
    end();
  });
});

describe("the certificate of tls-alpn-01", () => {
  test.each([
    ["www.certitude.example", "DNS:www.certitude.example", "www.certitude.example"],
    ["192.0.2.7", "IP Address:192.0.2.7", "7.2.0.192.in-addr.arpa"],
    ["2001:db8::1", "IP Address:2001:DB8:0:0:0:0:0:1", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"],
  ])("of %s names it alone, and is asked for by its server name", async (name, alternatives, serverName) => {
    const { cert } = await makeAlpnCertificate(name, "token.thumbprint");
    const certificate = new X509Certificate(cert);
    expect(certificate.subjectAltName).toBe(alternatives);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    const { stdout } = Bun.spawnSync(["openssl", "x509", "-noout", "-text"], { stdin: Buffer.from(cert) });
    expect(`${stdout}`).toMatch(/1\.3\.6\.1\.5\.5\.7\.1\.31: critical\n/);
    expect(serverNameOf(name)).toBe(serverName);
  });
});
