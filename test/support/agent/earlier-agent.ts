import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Desired } from "#agent/server-client";
import { sha256 } from "#crypto/sha256";
import { createLog } from "#log/log";
import recorded from "../../fixtures/earlier-agent.json";
import { newAgentHost } from "./agent-host";
import { put } from "./store-behaviour";

/** The remains of an earlier release of the agent, by kind: its record of an assignment, and the files. */
const RECORDED: Record<keyof typeof recorded, { record: object; files: Record<string, string> }> = recorded;

/** Lays out a host on which an earlier release has installed the item; what differs from host to host stands in braces in the recording. */
export function layEarlierHost(name: keyof typeof recorded, item: Desired) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-host-"));
  const { record, files } = RECORDED[name];
  const values: Record<string, string> = {
    directory,
    id: item.id,
    fingerprint: item.fingerprintSha256,
    certificate: item.pem,
    presented: [item.pem, ...item.chain.slice(0, -1)].join(""),
    key: item.privateKeyPem ?? "",
  };
  const fill = (text: string, write = (value: string) => value) =>
    Object.entries(values).reduce((rest, [each, value]) => rest.replaceAll(`{${each}}`, write(value)), text);
  for (const [file, text] of Object.entries(files)) {
    put(join(directory, file), fill(text));
    values[`digest of ${file}`] = sha256(fill(text));
  }
  const inJson = (value: string) => JSON.stringify(value).slice(1, -1);
  put(join(directory, "state/assignments", `${item.id}.json`), fill(JSON.stringify(record), inJson));
  return directory;
}

/** The agent of this release on such a host, and what it says. */
export async function newUpgradedHost(directory: string) {
  const said: { msg: string; names?: string[] }[] = [];
  const log = createLog("info", { write: (text) => void said.push(JSON.parse(text)) });
  const agent = await newAgentHost(
    (host) => ({ ...host, environment: { ...host.environment, GIT_CONFIG_SYSTEM: join(directory, "etc/gitconfig") } }),
    directory,
  );
  const pass: typeof agent.pass = (item, more) => agent.pass(item, { log, ...more });
  const withdraw: typeof agent.withdraw = (item, more) => agent.withdraw(item, { log, ...more });
  /** The names of what it took away from where an earlier release had put it. */
  const tookAway = () => said.filter(({ msg }) => msg.startsWith("an earlier release")).flatMap(({ names = [] }) => names);
  return { ...agent, pass, withdraw, tookAway };
}
