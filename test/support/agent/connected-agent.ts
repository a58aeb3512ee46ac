import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createListeners } from "#agent/challenges/listeners";
import { type Host, thisHost } from "#agent/host/host";
import { tokenAccess } from "#agent/identity/access";
import { openIdentityFiles } from "#agent/identity/identity-files";
import { createTrust } from "#agent/identity/trust";
import { runPass } from "#agent/pass";
import { type Policy, withGrant } from "#agent/policy/policy";
import { createServerClient, type HostFacts, type Report } from "#agent/server-client";
import { openState } from "#agent/state";
import { createTransport } from "#agent/transport";
import { createLog } from "#log/log";
import { certificate, importInto } from "../pki/certificates";
import { newAgent } from "../server/agents";
import { newOrganization } from "../server/people";
import { startProxy } from "../server/proxy";
import { world } from "../server/world";
import { holding, policyAt } from "./policies";

type Wish = { body?: object };
type Config = { reloadCommand?: string[] };
type Passing = { isOffline?: boolean; ignoreBackoff?: boolean; isOnce?: boolean; host?: HostFacts };

/** Returns a sender of requests to a server over plain http. */
export const transportTo = (server: string) =>
  createTransport({ server, connection: () => ({ tls: {}, hasOwnAuthority: false }), environment: {}, signal: new AbortController().signal });

/** An agent in this process, enrolled with the tests' server, which it reaches by way of `line`; its stores are scratch directories. */
export async function newConnectedAgent(prepare: (host: Host, directory: string) => Host = (host) => host, hear?: (bytes: Uint8Array) => void) {
  const organization = await newOrganization();
  const enrolled = await newAgent(organization);
  const directory = mkdtempSync(join(tmpdir(), "certitude-connected-"));
  const pathOf = (...names: string[]) => join(directory, ...names);
  mkdirSync(pathOf("store"));
  const { hostname, port } = new URL(world.url);
  const line = await startProxy({ host: hostname, port: Number(port) }, hear);
  const server = `http://127.0.0.1:${line.port}`;
  const said: { msg: string; reason?: string }[] = [];
  const log = createLog("info", { write: (text) => void said.push(JSON.parse(text)) });
  const access = tokenAccess(() => enrolled.token, transportTo(server));
  const client = createServerClient({ server, access, trust: createTrust({ files: openIdentityFiles(pathOf("state")), ask: access.ask, log }) });
  const host = prepare(thisHost({ PATH: Bun.env.PATH, HOME: directory }), directory);
  let state = await openState(pathOf("state"));
  let listeners = createListeners();
  let policy: Policy = {};
  setPolicy({ directories: [pathOf("store")] });
  let now = Date.parse("2030-01-01T00:00:00Z");

  /** Sets the host's policy, in its file too. */
  function setPolicy(wanted: Policy) {
    policy = wanted;
    writeFileSync(pathOf("policy.json"), JSON.stringify(policy));
  }

  const permitReload = ({ reloadCommand }: Config = {}) => reloadCommand && setPolicy(withGrant(policy, { field: "reloads", value: reloadCommand }));

  async function ask(method: string, path: string, { body }: Wish = {}) {
    const answer = await organization.admin(method, path, { ...(body && { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  }

  return {
    organization,
    ...enrolled,
    host,
    client,
    said,
    line,
    server,
    pathOf,
    ask,
    policySource: policyAt(pathOf("policy.json")),
    setPolicy,
    state: () => state,
    /** Moves the agent's clock. */
    wait: (milliseconds: number) => {
      now += milliseconds;
    },
    /** A root of the organization. */
    async newRoot(commonName = "Test Root") {
      const { pem } = certificate({ commonName, isCa: true });
      const [id = ""] = await importInto(organization, pem);
      return { id, pem };
    },
    /** Assigns a certificate to the agent's store, as the file of this name; the host agrees to the reload. */
    async assign(certificateId: string, alias: string, config: Config & Record<string, unknown> = {}): Promise<string> {
      permitReload(config);
      const body = {
        applicationId: crypto.randomUUID(),
        certificateId,
        trustStoreType: "openssl_ca_dir",
        config: { trustStorePath: pathOf("store"), alias, ...config },
      };
      return (await ask("POST", enrolled.assignments, { body })).id;
    },
    change(id: string, body: { config?: Config } & Record<string, unknown>) {
      permitReload(body.config);
      return ask("PATCH", `${enrolled.assignments}/${id}`, { body });
    },
    /** Deletes an assignment without the agent's word. */
    forceUnassign: (id: string) => ask("DELETE", `${enrolled.assignments}/${id}?force=true&reason=scrapped`),
    isAssigned: async (id: string) => (await organization.member("GET", `${enrolled.assignments}/${id}`)).status === 200,
    unassign: (id: string) => ask("DELETE", `${enrolled.assignments}/${id}`),
    /** Returns the server's history of an assignment, the oldest state first, each with its message. */
    async historyOf(id: string): Promise<string[]> {
      const { history } = (await organization.member("GET", `${enrolled.assignments}/${id}`)).body;
      return history.toReversed().map(({ state, message }: Report) => (message ? `${state}: ${message}` : state));
    },
    /** Each state of an assignment that the server knows of, the oldest first, with when the agent says that it saw it. */
    async timesOf(id: string): Promise<[state: string, observedAt: string | null][]> {
      const { history } = (await organization.member("GET", `${enrolled.assignments}/${id}`)).body;
      return history.toReversed().map(({ state, observedAt }: Report) => [state, observedAt]);
    },
    /** One pass. */
    pass: ({ isOffline = false, ignoreBackoff = false, isOnce = false, host: facts }: Passing = {}) =>
      runPass(
        {
          host,
          policy: holding(policy),
          state,
          log,
          client,
          listeners,
          clock: () => new Date(now),
          isDryRun: false,
          ignoreBackoff,
          isOnce,
        },
        { host: facts, isOffline },
      ),
    /** As a new process finds it. */
    async restart() {
      listeners.close();
      listeners = createListeners();
      state.close();
      state = await openState(pathOf("state"));
    },
    /** As one whose state directory was lost finds it. */
    async loseState() {
      state.close();
      rmSync(pathOf("state"), { recursive: true });
      state = await openState(pathOf("state"));
    },
    /** The certificates in the store, by file name. */
    store: () =>
      Object.fromEntries(
        readdirSync(pathOf("store"))
          .filter((name) => name.endsWith(".pem"))
          .map((name) => [name, readFileSync(pathOf("store", name), "utf8")]),
      ),
    async end() {
      listeners.close();
      state.close();
      await line.stop();
      rmSync(directory, { recursive: true });
    },
  };
}
export type ConnectedAgent = Awaited<ReturnType<typeof newConnectedAgent>>;
