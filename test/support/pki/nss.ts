import { expect } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Desired } from "#agent/server-client";
import { desired, desiredServer } from "../agent/agent-host";
import { newToolHost } from "../agent/program-stores";
import { type Issued, newAuthority, serveTls } from "./authority";
import { type AgentHost, runs } from "./tls-clients";

/** Runs certutil or pk12util on a database of another owner; it has a password where the file `password` lies beside its directory. */
async function run(tool: string, database: string, args: string[], input = "") {
  const child = Bun.spawn([tool, "-d", `sql:${database}`, ...args], { stdin: Buffer.from(input), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0 && !/no keys found/.test(stdout + stderr)) throw new Error(`${tool} ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** Returns whether the server has greeted; tstclnt itself would wait on. */
async function greets(args: string[]) {
  const child = Bun.spawn(["tstclnt", ...args], { stdin: Buffer.from("GET / HTTP/1.0\r\n\r\n"), stdout: "pipe", stderr: "pipe" });
  let output = "";
  for await (const part of child.stdout) {
    output += Buffer.from(part).toString();
    if (output.includes("trusted")) child.kill();
  }
  const faults = await child.stderr.text();
  const isGreeted = output.includes("trusted");
  if (!isGreeted && !/cert|SSL_ERROR|PR_END_OF_FILE|PR_CONNECT_RESET/i.test(faults + output)) throw new Error(`tstclnt: ${faults}`);
  return isGreeted;
}

export async function newDatabase(database: string, password = "") {
  mkdirSync(database, { recursive: true });
  const file = `${database}.password`;
  writeFileSync(file, `${password}\n`);
  const withPassword = password === "" ? [] : ["-f", file];
  await run("certutil", database, ["-N", ...(password === "" ? ["--empty-password"] : withPassword)]);
  const certutil = (args: string[], input?: string) => run("certutil", database, [...args, ...withPassword], input);

  return {
    certutil,
    add: (name: string, trust: string, pem: string) => certutil(["-A", "-n", name, "-t", trust, "-a"], pem),
    /** Every nickname with its trust, and every private key. */
    async list() {
      const [certificates, keys] = [await certutil(["-L"]), await certutil(["-K"])];
      const rows = [...certificates.matchAll(/^(.*\S) +([a-zA-Z]*,[a-zA-Z]*,[a-zA-Z]*) *$/gm)].map(([, name, trust]) => `${name} ${trust}`);
      return [...rows, ...[...keys.matchAll(/^<.*> \w+ +(\w+) +(.*)$/gm)].map(([, , name]) => `key ${name}`)].toSorted();
    },
    /** Returns whether NSS accepts the server by the database, and the server NSS, with a client's certificate of that nickname. */
    trusts: (port: number, client?: string) =>
      greets(["-h", "127.0.0.1", "-p", String(port), "-d", `sql:${database}`, ...(password === "" ? [] : ["-W", file]), ...(client ? ["-n", client] : [])]),
  };
}

/** The owner of a file and its mode, as ls shows them. */
export const ownerOf = async (directory: string, name: string) => (await runs(["stat", "-c", "%U %a", join(directory, name)])).stdout.trim();

export const PASSWORD = "of the database";
/** How `list` shows what was there before the agent came. */
export const KNOWN = "known C,,";

/** An agent through whose scratch directory other users may pass. */
export async function newHost(directory?: string) {
  const agent = await newToolHost({ DB_PASSWORD: PASSWORD }, directory);
  chmodSync(agent.directory, 0o711);
  return agent;
}

type Authority = Awaited<ReturnType<typeof newAuthority>>;
const storeOf = (agent: AgentHost, more: Desired["config"]) => ({
  trustStoreType: "nss_shared_db" as const,
  config: { trustStorePath: agent.pathOf("db"), alias: "corp", ...more },
});
export const itemOf = (agent: AgentHost, certificate: Authority["root"], more: Desired["config"] = {}, rest: Partial<Desired> = {}) =>
  desired(certificate, { ...storeOf(agent, more), ...rest });
export const client = (agent: AgentHost, issued: Issued, more: Desired["config"] = {}) =>
  desiredServer(issued, { ...storeOf(agent, more), materialType: "client_certificate" });
export const failed = (words: string) => ({ state: "failed" as const, message: expect.stringContaining(words) });

/** Three authorities with a server of each: the agent's, the one that is trusted before, and one of the first's name with another key. */
export async function newNss() {
  const [authority, known, namesake] = await Promise.all([newAuthority("Corp"), newAuthority(), newAuthority("Corp")]);
  const serve = async ({ issueServer }: Authority) => serveTls(await issueServer("good.test"));
  const [server, knownServer, namesakeServer] = await Promise.all([serve(authority), serve(known), serve(namesake)]);

  return {
    authority,
    known,
    namesake,
    server,
    knownServer,
    namesakeServer,
    anchor: (agent: AgentHost, more: Desired["config"] = {}) => itemOf(agent, authority.root, more),
    /** Makes a database of another owner who trusts the known authority. */
    async newKnowing(agent: AgentHost, password = "") {
      const database = await newDatabase(agent.pathOf("db"), password);
      await database.add("known", "C,,", known.root.pem);
      return database;
    },
    async end() {
      await Promise.all([server, knownServer, namesakeServer].map((each) => each.stop()));
      for (const each of [authority, known, namesake]) each.remove();
    },
  };
}
