import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { newAgentHost } from "../agent/agent-host";
import type { Issued } from "./authority";

export type AgentHost = Awaited<ReturnType<typeof newAgentHost>>;

/**
 * Runs a program of this machine with these variables and nothing else of the environment; a server that it does not trust
 * makes it fail.
 */
export async function runs(argv: string[], environment: Record<string, string> = {}) {
  const child = Bun.spawn(argv, { env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent", ...environment }, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { isGood: code === 0, stdout, stderr };
}

/** Returns whether the program accepts the server; any failure but distrust is an error. */
export async function trusts(argv: string[], environment: Record<string, string> = {}) {
  const { isGood, stderr } = await runs(argv, environment);
  if (!isGood && !/certificate|CERT/.test(stderr)) throw new Error(`${argv[0]}: ${stderr}`);
  return isGood;
}

export const curlTrusts = (url: string, environment?: Record<string, string>, ...options: string[]) =>
  trusts(["/usr/bin/curl", ...options, "--silent", "--show-error", "--max-time", "10", url], environment);

const FETCH = "require('https').get(process.argv[1], (a) => { a.resume(); process.exit(0); }).on('error', (e) => { console.error(e.code); process.exit(1); })";
export const nodeTrusts = (url: string, environment?: Record<string, string>) => trusts(["node", "--eval", FETCH, url], environment);

export const requestsTrusts = (url: string, environment?: Record<string, string>, python = "/usr/bin/python3") =>
  trusts([python, "-c", "import requests, sys; requests.get(sys.argv[1], timeout=10)", url], environment);

export const urllibTrusts = (url: string, environment?: Record<string, string>) =>
  trusts(["/usr/bin/python3", "-c", "import urllib.request, sys; urllib.request.urlopen(sys.argv[1], timeout=10)", url], environment);

/** The variables that sh has once it has read the file. */
export async function variablesIn(file: string): Promise<Record<string, string>> {
  const { stdout } = await runs(["/bin/sh", "-c", '[ ! -e "$1" ] || { set -a; . "$1"; }; exec env -0', "sh", file]);
  return Object.fromEntries(
    stdout
      .split("\0")
      .flatMap((each) => (/^(SSL_|REQUESTS_|NODE_|CURL_)/.test(each) ? [[each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1)]] : [])),
  );
}

/** Every file of the scratch host with its mode and bytes, but for what the system's tool makes. */
export const contentOf = (agent: AgentHost) =>
  Object.fromEntries(
    agent
      .files()
      .filter((name) => !name.startsWith("certs/"))
      .map((name) => [name, `${statSync(agent.pathOf(name)).mode.toString(8)} ${readFileSync(agent.pathOf(name)).toString("base64")}`]),
  );

/**
 * A repository with one commit, served as plain files over TLS; with `clientCa`, only to those who present a certificate of
 * that authority.
 */
export async function serveRepository({ pem, privateKeyPem, chain }: Issued, clientCa?: string) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-repository-"));
  await Bun.$`git init -q work && git -C work -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m first && git clone -q --bare work bare && git -C bare update-server-info`
    .cwd(directory)
    .env({ PATH: "/usr/bin:/bin", HOME: directory, GIT_CONFIG_NOSYSTEM: "1" })
    .quiet();
  const tls = { cert: pem + chain.slice(0, -1).join(""), key: privateKeyPem, ...(clientCa && { ca: clientCa, requestCert: true, rejectUnauthorized: true }) };
  const server = createServer(tls, (request, response) => {
    const name = new URL(request.url ?? "/", "https://localhost").pathname;
    const path = join(directory, "bare", name);
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
    response.writeHead(isFile ? 200 : 404).end(isFile ? readFileSync(path) : "");
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `https://127.0.0.1:${port}/`,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(directory, { recursive: true });
    },
  };
}

const DEBIAN = "/usr/lib/python3/dist-packages";

/** A virtual environment with certifi as its makers publish it, which pip carries within and Debian adds to, and Debian's requests. */
export async function newVirtualEnvironment(directory: string) {
  await Bun.$`/usr/bin/python3 -m venv ${directory}`.quiet();
  const [version = ""] = readdirSync(join(directory, "lib"));
  const packages = join(directory, "lib", version, "site-packages");
  const certifi = join(packages, "certifi");
  /** As an upgrade does it: the package that is there goes, and the published one comes. */
  function installCertifi() {
    rmSync(certifi, { recursive: true, force: true });
    cpSync(join(packages, "pip/_vendor/certifi"), certifi, { recursive: true });
    for (const name of ["core.py", "__main__.py"]) {
      const [published = ""] = readFileSync(join(certifi, name), "utf8").split("# Debian: ");
      writeFileSync(join(certifi, name), published.replaceAll("pip._vendor.", ""));
    }
  }
  installCertifi();
  for (const name of ["requests", "urllib3", "idna", "chardet", "six.py"]) symlinkSync(join(DEBIAN, name), join(packages, name));
  const python = join(directory, "bin/python");
  const bundle = join(certifi, "cacert.pem");
  const { stdout } = await runs([python, "-m", "certifi"]);
  if (stdout.trim() !== bundle) throw new Error(`certifi leads to ${stdout.trim()}`);
  return { python, packages, bundle, installCertifi };
}
