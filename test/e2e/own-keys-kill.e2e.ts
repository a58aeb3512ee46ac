import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { privateKeyIn } from "#agent/host/pem";
import { isKeyOf } from "#agent/host/private-key";
import { runAndKillAt } from "../support/agent/crash";
import { type Installation, newInstallation } from "../support/agent/installation";
import { until } from "../support/agent/observing";

setDefaultTimeout(900_000);

let installation: Installation;
let issuerId: string;
beforeAll(async () => {
  installation = await newInstallation();
  const root = { kind: "root", name: "Root", subject: { commonName: "Scratch Root" }, publicUrl: installation.url };
  const { issuing } = await installation.get("POST", "{org}/authorities", {
    ...root,
    issuing: { name: "Issuing", subject: { commonName: "Scratch Issuing" } },
  });
  issuerId = (await installation.get("POST", "{org}/issuers", { kind: "internal", name: "Ours", config: { authorityId: issuing.id } })).id;
});
afterAll(() => installation.remove());

/** Milliseconds for which a step is held; more where the kill came too late. */
const HOLDS = [8, 50, 300];
const LANES = 2;

/** An agent with a directory for the files of servers. */
async function newHost() {
  const agent = await installation.enrol();
  const place = (...names: string[]) => agent.pathOf("store", ...names);
  mkdirSync(place());
  let orders = 0;
  return {
    ...agent,
    place,
    /** Another certificate, in files of its own. */
    async order() {
      const name = `site-${++orders}`;
      const config = { trustStorePath: place(), certFileName: `${name}.crt`, keyFileName: `${name}.key` };
      const deployment = { agentId: agent.id, applicationId: "payments", trustStoreType: "pem_files", materialType: "server_certificate", config };
      const names = [`${name}.${agent.id}.certitude.example`];
      const { id } = await installation.get("POST", "{org}/certificate-requests", { issuerId, names, key: { location: "agent" }, deployment });
      return { id: String(id), certificate: place(`${name}.crt`), key: place(`${name}.key`), waiting: place(`.certitude-${id}.pending`) };
    },
    /** What is left of any key that was on its way. */
    left: () =>
      readdirSync(agent.pathOf(), { recursive: true })
        .map(String)
        .filter((name) => /certitude-tmp$|damaged$|^state\/keys\/|\.pending$/.test(name)),
  };
}
type Host = Awaited<ReturnType<typeof newHost>>;

/** Where the agent writes for the key of a request. */
const placesOf = (id: string, { place, pathOf }: Host) => [
  place(),
  place(`.certitude-${id}.pending`),
  place(`..certitude-${id}.pending.certitude-tmp`),
  pathOf("state/keys"),
  pathOf("state/keys", `${id}.json`),
  pathOf("state/keys", `.${id}.json.certitude-tmp`),
];

/** Dies before this step, and serves with one key all the same. Returns the step, or how often files were synced where there are fewer. */
async function dieAt(step: number, host: Host, isAboutMessages: boolean) {
  for (const hold of HOLDS) {
    const { id, certificate, key, waiting } = await host.order();
    const paths = isAboutMessages ? [] : placesOf(id, host);
    const { isKilled, steps, syncs, code } = await runAndKillAt(host.host, paths, { step, hold }, ...host.args, "--once");
    expect(code).toBe(isKilled ? 137 : 0);
    const made = existsSync(waiting) ? readFileSync(waiting, "utf8") : undefined;
    await until(async () => {
      expect(await host.once()).toMatchObject({ code: 0 });
      expect(existsSync(certificate)).toBe(true);
    });
    const used = privateKeyIn(readFileSync(key, "utf8")) ?? "";
    expect(isKeyOf(readFileSync(certificate, "utf8"), used)).toBe(true);
    expect(used).toBe(privateKeyIn(made ?? used) ?? "");
    expect(host.left()).toEqual([]);
    if (!isKilled) return { syncs };
    if (steps.length === step) return { call: steps.at(-1) ?? "" };
  }
  throw new Error(`the making of a key could not be stopped before step ${step} in time`);
}

async function dieAtEach(isAboutMessages: boolean) {
  const deaths: Record<string, number> = {};
  async function takeLane(_: unknown, lane: number) {
    const host = await newHost();
    for (let step = lane + 1; ; step += LANES) {
      const { call, syncs } = await dieAt(step, host, isAboutMessages);
      if (call === undefined) return syncs;
      deaths[call] = (deaths[call] ?? 0) + 1;
    }
  }
  const [syncs] = await Promise.all(Array.from({ length: LANES }, takeLane));
  return { deaths, syncs };
}

describe("the executable as an agent that makes a key, killed", () => {
  test("before each change: the key that was made is found again, and its certificate comes to it", async () => {
    const { deaths, syncs } = await dieAtEach(false);
    expect(deaths.rename).toBeGreaterThanOrEqual(2);
    expect(syncs).toBeGreaterThanOrEqual(4);
  });

  test("before each message to the server", async () => {
    const { connect, sendto } = (await dieAtEach(true)).deaths;
    expect(connect).toBe(1);
    expect(sendto).toBeGreaterThanOrEqual(2);
  });
});
