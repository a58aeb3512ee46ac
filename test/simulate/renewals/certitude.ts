import { mkdirSync, openSync } from "node:fs";
import { join, resolve } from "node:path";
import { freePort } from "../../support/pki/tls-servers";

const SOURCES = resolve(import.meta.dir, "../../../src");
/** How the server and the agent are called. */
export type Program = { server: string[]; agent: string[] };
export const FROM_SOURCES: Program = { server: [process.execPath, join(SOURCES, "main.ts")], agent: [process.execPath, join(SOURCES, "agent-main.ts")] };
export const executable = (path: string): Program => ({ server: [resolve(path)], agent: [resolve(path), "agent"] });

/** Runs a command to its end, and returns what it prints. */
export async function runToEnd(argv: string[], env: Record<string, string>, input?: string) {
  const child = Bun.spawn(argv, { env, stdin: input === undefined ? "ignore" : Buffer.from(input), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}: ${stderr}`);
  return stdout.trim();
}

/** Starts a program that writes what it says to the end of a file. */
export function startLogging(argv: string[], env: Record<string, string>, log: string) {
  const file = openSync(log, "a");
  return Bun.spawn(argv, { env, stdin: "ignore", stdout: file, stderr: file });
}

/** The server that is killed and started again, with an organization of its own. */
export async function startCertitude(directory: string, databaseUrl: string, { server }: Program) {
  const [own, user, email] = [join(directory, "certitude"), crypto.randomUUID(), "ada@certitude.example"];
  mkdirSync(own);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log = join(own, "server.log");
  const env = {
    PATH: Bun.env.PATH ?? "",
    HOME: own,
    PORT: String(port),
    DATA_DIR: join(own, "data"),
    DATABASE_URL: databaseUrl,
    JWT_SECRET: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex"),
    SECRETS_KEY: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64"),
    ALLOW_PRIVATE_TARGETS: "true",
  };
  await runToEnd([...server, "migrate"], env);
  const organization = await runToEnd([...server, "admin", "create-organization", "--name", "Simulated", "--admin-user", user, "--admin-email", email], env);
  const token = await runToEnd([...server, "token", "--user", user, "--email", email, "--ttl", "8h"], env);
  const rights = { authorization: `Bearer ${token}`, "x-organization-id": organization, "x-organization-role": "ORG_ADMIN" };
  let child = startLogging([...server, "serve"], env, log);

  async function isReady() {
    for (;;) {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${log} says why`);
      const answer = await fetch(`${url}/health/ready`).catch(() => undefined);
      if (answer?.ok) return;
      await Bun.sleep(100);
    }
  }
  await isReady();

  return {
    url,
    log,
    databaseUrl,
    /** What a request must succeed with. */
    async ask(method: string, path: string, body: object) {
      const headers = { ...rights, "content-type": "application/json" };
      const answer = await fetch(`${url}/organizations/${organization}${path}`, { method, headers, body: JSON.stringify(body) });
      // biome-ignore lint/suspicious/noExplicitAny: the document says what it is
      const json: any = await answer.json();
      if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${JSON.stringify(json)}`);
      return json;
    },
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
    async start() {
      child = startLogging([...server, "serve"], env, log);
      await isReady();
    },
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

export type Certitude = Awaited<ReturnType<typeof startCertitude>>;
