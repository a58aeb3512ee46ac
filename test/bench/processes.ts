import { join, resolve } from "node:path";
import { SignJWT } from "jose";

const ROOT = resolve(import.meta.dir, "../..");
const JWT_SECRET = "a secret of the benchmark, long enough to sign";
const children = new Map<string, Bun.Subprocess>();

/** The server of this checkout, or of another; `isBinary` takes its dist/certitude. Rate limits are off, and this machine is a trusted gateway. */
export function startCertitude(environment: Record<string, string>, version: Version = {}) {
  return start((port) => ({ command: [...programOf(version), "serve"], environment: { ...environmentOf(environment), PORT: `${port}` } }));
}

/** Runs a command of the same program to its end. */
export async function runCertitude(command: string[], environment: Record<string, string>, version: Version = {}) {
  const child = Bun.spawn([...programOf(version), ...command], { env: environmentOf(environment), stdout: "ignore", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error(`certitude ${command.join(" ")} failed`);
}

type Version = { source?: string; isBinary?: boolean };

const programOf = ({ source = ROOT, isBinary = false }: Version) =>
  isBinary ? [join(source, "dist/certitude")] : [process.execPath, join(source, "src/main.ts")];

/** What every server of the benchmarks is told. */
export const environmentOf = (environment: Record<string, string>) => ({
  PATH: Bun.env.PATH ?? "",
  JWT_SECRET,
  SECRETS_KEY: Buffer.alloc(32).toString("base64"),
  RATE_LIMITS: "off",
  TRUSTED_GATEWAYS: "127.0.0.1",
  ...environment,
});

/** A token that the server of `startCertitude` believes. */
export function signToken(user: string) {
  return new SignJWT({ sub: user }).setProtectedHeader({ alg: "HS256" }).setExpirationTime("1h").sign(Buffer.from(JWT_SECRET));
}

/** Starts a server in a process of its own, its output thrown away, and answers its address once it listens. */
export async function start(prepare: (port: number) => { command: string[]; environment?: Record<string, string> }) {
  const port = await findFreePort();
  const { command, environment } = prepare(port);
  const url = `http://127.0.0.1:${port}`;
  children.set(url, Bun.spawn(command, { env: { PATH: Bun.env.PATH ?? "", ...environment }, stdout: "ignore", stderr: "inherit" }));
  for (let attempt = 0; attempt < 600; attempt++) {
    if (await fetch(url).catch(() => undefined)) return url;
    await Bun.sleep(100);
  }
  throw new Error(`${command.join(" ")} does not answer`);
}

/** The process that listens at the address that `start` answered. */
export const pidOf = (url: string) => children.get(url)?.pid ?? 0;

export async function stopAll() {
  for (const child of children.values()) child.kill();
  await Promise.all(Array.from(children.values(), (child) => child.exited));
}

async function findFreePort() {
  const probe = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const port = Number(probe.port);
  await probe.stop(true);
  return port;
}
