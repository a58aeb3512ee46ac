import { mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Policy, withGrant } from "#agent/policy/policy";
import { newPlace, run, serve, start } from "../server/executable";
import { createScratchDatabase, environment } from "../server/world";

const USER = crypto.randomUUID();
const EMAIL = "ada@certitude.example";

/** The agent's environment besides a home, its own directory being so. */
type Enrolment = { environment?: (directory: string) => Record<string, string> };
type Wanted = { config?: { reloadCommand?: string[]; [field: string]: unknown }; [field: string]: unknown };
type Wish = { body?: object; headers?: Record<string, string> };

/**
 * The executable at work: a server and an organization of its own, on the Postgres of TEST_DATABASE_URL or the embedded one,
 * with more in its environment if wanted.
 */
export async function newInstallation(environmentOfServer: Record<string, string> = {}) {
  const { cwd, dataDir, remove: removePlace } = newPlace();
  const scratch = Bun.env.TEST_DATABASE_URL ? await createScratchDatabase(Bun.env.TEST_DATABASE_URL) : undefined;
  const { JWT_SECRET, SECRETS_KEY } = environment;
  const place = { cwd, env: { ...environmentOfServer, ...(scratch ? { DATABASE_URL: scratch.url, JWT_SECRET, SECRETS_KEY } : { DATA_DIR: dataDir }) } };
  const organization = await succeed("admin", "create-organization", "--name", "Example Ltd", "--admin-user", USER, "--admin-email", EMAIL);
  const token = await succeed("token", "--user", USER, "--email", EMAIL, "--ttl", "8h");
  let server = await serve(place);
  const url = server.url.replace("https://127.0.0.1", "https://localhost");
  const rights = { authorization: `Bearer ${token}`, "x-organization-id": organization, "x-organization-role": "ORG_ADMIN" };

  async function succeed(...args: string[]) {
    const { code, stdout, stderr } = await run(place, ...args);
    if (code !== 0) throw new Error(`certitude ${args[0]} ended with ${code}: ${stderr}`);
    return stdout;
  }

  async function ask(method: string, path: string, { body, headers = rights }: Wish = {}) {
    const answer = await fetch(`${url}${path.replace("{org}", `/organizations/${organization}`)}`, {
      method,
      headers: { ...headers, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
      tls: { rejectUnauthorized: false }, // where it serves https, its certificate is what a test is about
    });
    const text = await answer.text();
    // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the server said
    const json: any = text === "" ? "" : JSON.parse(text);
    return { status: answer.status, body: json, etag: answer.headers.get("etag") };
  }

  /** The same, for what must succeed: the body of the answer. */
  async function get(method: string, path: string, body?: object) {
    const answer = await ask(method, path, { ...(body && { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async function importPem(pem: string, privateKeyPem?: string): Promise<string> {
    const { imported } = await get("POST", "{org}/certificates", { pem, ...(privateKeyPem && { privateKeyPem }) });
    return imported[0].id;
  }

  /** An agent on this machine: a token file, and a directory for whatever it is to fill. */
  async function enrol({ environment }: Enrolment = {}) {
    const agent: { id: string; token: string } = await get("POST", "{org}/agents", { name: "web-01" });
    const directory = mkdtempSync(join(dirname(cwd), "agent-"));
    const pathOf = (...names: string[]) => join(directory, ...names);
    writeFileSync(pathOf("token"), agent.token, { mode: 0o600 });
    const args = ["agent", "--server", url, "--token-file", pathOf("token"), "--state-dir", pathOf("state"), "--policy", pathOf("policy.json")];
    let policy: Policy = { directories: [directory], privateKeys: true };
    /** The host agrees to the reload, and to all in the agent's directory. */
    function agree({ config }: Wanted) {
      if (config?.reloadCommand) policy = withGrant(policy, { field: "reloads", value: config.reloadCommand });
      writeFileSync(pathOf("policy.json"), JSON.stringify(policy), { mode: 0o600 });
    }
    agree({});
    const host = { cwd, env: { HOME: directory, ...environment?.(directory) } };
    const assignments = `{org}/agents/${agent.id}/assignments`;
    return {
      ...agent,
      assignments,
      pathOf,
      host,
      args,
      agree,
      /** One pass. */
      once: (...more: string[]) => run(host, ...args, "--once", ...more),
      start: (...more: string[]) => start(host, ...args, ...more),
      assign(certificateId: string, rest: Wanted) {
        agree(rest);
        return get("POST", assignments, { applicationId: "payments", certificateId, ...rest });
      },
      change(id: string, patch: Wanted) {
        agree(patch);
        return get("PATCH", `${assignments}/${id}`, patch);
      },
      read: (id: string) => get("GET", `${assignments}/${id}`),
      /** Returns the desired state as the server sends it. */
      desired: (etag?: string | null) =>
        ask("GET", "/agent/assignments", { headers: { authorization: `Bearer ${agent.token}`, ...(etag && { "if-none-match": etag }) } }),
    };
  }

  return {
    url,
    ask,
    get,
    importPem,
    enrol,
    stop: () => server.stop(),
    /** Serves again, at the same address. */
    async restart() {
      server = await serve({ ...place, env: { ...place.env, PORT: new URL(url).port } });
    },
    async remove() {
      await server.stop();
      await scratch?.drop();
      removePlace();
    },
  };
}

export type Installation = Awaited<ReturnType<typeof newInstallation>>;
export type InstalledAgent = Awaited<ReturnType<Installation["enrol"]>>;
