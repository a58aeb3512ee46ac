import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { certificatesIn, fingerprintOf, presented } from "#agent/host/pem";
import type { Issued } from "./authority";

/** Below the ports that the kernel gives to outgoing connections, of which the tests beside have thousands. */
const PORTS = { lowest: 12_000, count: 20_000 };

/** Returns a port of loopback that nothing listens on, another one at each call. */
export async function freePort(): Promise<number> {
  const port = PORTS.lowest + Math.floor(Math.random() * PORTS.count);
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(!given.has(port)));
  });
  if (server.listening) await new Promise((resolve) => server.close(resolve));
  if (!isFree) return freePort();
  given.add(port);
  return port;
}
const given = new Set<number>();

/** A real server of a scratch directory, as it was before the agent came. */
export type TlsServer = { port: number; pid: number; reloadCommand: string[]; stop: () => Promise<unknown> };

const running = new Set<Bun.Subprocess>();

/** Ends what a failed test has left. */
export function endServers() {
  for (const each of running) each.kill("SIGKILL");
  running.clear();
}

type Starting = { word?: string; user?: { uid: number; gid: number }; environment?: Record<string, string>; log?: string };

/** Starts a program and waits until it listens, and has said `word`. */
export async function startListening(argv: string[], port: number, { word = "", user, environment = {}, log }: Starting = {}) {
  const child = Bun.spawn(argv, {
    env: { PATH: Bun.env.PATH ?? "", LC_ALL: "C.UTF-8", ...environment },
    stdin: "ignore",
    stdout: log === undefined ? "ignore" : Bun.file(log),
    stderr: "pipe",
    ...user,
  });
  running.add(child);
  let words = "";
  const end = (async () => {
    for await (const bytes of child.stderr) words += Buffer.from(bytes);
  })();
  for (let isUp = false; !isUp; isUp = words.includes(word) && (await answers(port))) {
    if (child.exitCode !== null) throw new Error(`${argv[0]} ended: ${words}`);
    await Bun.sleep(20);
  }
  async function stop(signal: NodeJS.Signals = "SIGTERM") {
    child.kill(signal);
    await Promise.all([child.exited, end]);
    running.delete(child);
  }
  return { pid: child.pid, stop };
}

const answers = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.end());
  });

/** Returns the chain that the server at the port presents, by openssl: the fingerprints of the leaf and of those after it. */
export async function presentedAt(port: number, ...options: string[]) {
  const child = Bun.spawn(["openssl", "s_client", "-connect", `127.0.0.1:${port}`, "-showcerts", ...options], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  return certificatesIn(await child.stdout.text()).map(fingerprintOf);
}

/** Writes a server's files, as its operator would: the certificate with its intermediates, and the key. */
export function writePair(certificate: string, key: string, issued: Issued, mode = 0o600) {
  writeFileSync(certificate, presented(issued.pem, issued.chain).join(""));
  writeFileSync(key, issued.privateKeyPem);
  chmodSync(key, mode);
}

/** nginx; `extra` goes into its server block. */
export async function startNginx(directory: string, extra = ""): Promise<TlsServer & { config: string }> {
  const port = await freePort();
  const prefix = join(directory, "nginx");
  mkdirSync(prefix);
  const config = join(prefix, "nginx.conf");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((each) => `${each}_temp_path ${prefix}/${each};`).join(" ");
  writeFileSync(
    config,
    `pid ${prefix}/pid; events {} http { access_log off; ${temporary} server { listen 127.0.0.1:${port} ssl;
      ssl_certificate ${directory}/tls/tls.crt; ssl_certificate_key ${directory}/tls/tls.key; ${extra} return 200 "trusted"; } }`,
  );
  const nginx = ["nginx", "-p", prefix, "-c", config, "-e", join(prefix, "error.log")];
  const server = await startListening([...nginx, "-g", "daemon off;"], port);
  return { ...server, port, config, reloadCommand: [...nginx, "-s", "reload"] };
}

/** Asks HAProxy's master to reload, and waits until it has: it does not hear what it is asked meanwhile. */
const RELOAD = `
import re, socket, sys, time
def ask(words):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(sys.argv[1]); s.sendall(words + b"\\n"); return s.recv(4096)
def worker():
    try: return re.search(rb"# workers\\n(\\d+)", ask(b"show proc")).group(1)
    except (OSError, AttributeError): return None
before = worker()
ask(b"reload")
while worker() in (None, before): time.sleep(0.05)
`;

/** HAProxy's master and its worker. */
export async function startHaproxy(directory: string, certificate: string): Promise<TlsServer & { config: string }> {
  const port = await freePort();
  const config = join(directory, "haproxy.cfg");
  const [control, script] = [join(directory, "haproxy.sock"), join(directory, "reload.py")];
  writeFileSync(script, RELOAD);
  writeFileSync(
    config,
    `defaults\n  mode http\n  timeout client 5s\n  timeout connect 5s\n  timeout server 5s\n` +
      `frontend tls\n  bind 127.0.0.1:${port} ssl crt ${certificate}\n  http-request return status 200 content-type text/plain string trusted\n`,
  );
  const server = await startListening(["haproxy", "-W", "-db", "-S", control, "-f", config], port, { word: "Loading success" });
  return { ...server, port, config, reloadCommand: ["python3", script, control] };
}

export async function startRedis(directory: string, ...options: string[]): Promise<TlsServer & { plainPort: number }> {
  const [port, plainPort] = [await freePort(), await freePort()];
  const tls = ["--tls-cert-file", `${directory}/tls/redis.crt`, "--tls-key-file", `${directory}/tls/redis.key`, "--tls-auth-clients", "no"];
  const argv = ["redis-server", "--port", String(plainPort), "--tls-port", String(port), "--save", "", "--dir", directory, ...tls, ...options];
  const server = await startListening(argv, port);
  const files = ["tls-cert-file", `${directory}/tls/redis.crt`, "tls-key-file", `${directory}/tls/redis.key`];
  return { ...server, port, plainPort, reloadCommand: ["redis-cli", "-p", String(plainPort), "-e", "CONFIG", "SET", ...files] };
}

const idOf = (flag: string) => Number(Bun.spawnSync(["id", flag, "postgres"]).stdout.toString());
/** The account to which a Postgres and its files belong: it refuses to run as root. */
export const DATABASE_USER = { uid: idOf("-u"), gid: idOf("-g") };

/** The programs of the newest Postgres on this machine. */
export function postgresPrograms() {
  const versions = readdirSync("/usr/lib/postgresql").toSorted((one, other) => Number(other) - Number(one));
  return `/usr/lib/postgresql/${versions[0]}/bin`;
}

/** A data directory from which others are copied, which is quicker than to make each. */
export async function newCluster() {
  const data = mkdtempSync(join(tmpdir(), "certitude-cluster-"));
  chownSync(data, DATABASE_USER.uid, DATABASE_USER.gid);
  const argv = [`${postgresPrograms()}/initdb`, "-D", data, "-A", "trust", "-U", "postgres", "-N", "--no-locale", "-E", "UTF8"];
  const initdb = Bun.spawn(argv, { ...DATABASE_USER, cwd: data, stdout: "ignore", stderr: "pipe" });
  if ((await initdb.exited) !== 0) throw new Error(await initdb.stderr.text());
  return { data, remove: () => rmSync(data, { recursive: true }) };
}

/** A Postgres of its own, whose data directory is `tls`, with the files that `prepare` puts there. */
export async function startPostgres(directory: string, cluster: string, prepare: (data: string) => void): Promise<TlsServer> {
  const [data, sockets, port] = [join(directory, "tls"), join(directory, "sockets"), await freePort()];
  await Bun.$`cp -a ${cluster} ${data}`;
  mkdirSync(sockets);
  prepare(data);
  for (const each of [sockets, join(data, "server.crt"), join(data, "server.key")]) chownSync(each, DATABASE_USER.uid, DATABASE_USER.gid);
  const settings = ["ssl=on", `port=${port}`, `unix_socket_directories=${sockets}`, "fsync=off", "logging_collector=off"].flatMap((each) => ["-c", each]);
  const server = await startListening([`${postgresPrograms()}/postgres`, "-D", data, ...settings], port, {
    user: DATABASE_USER,
    word: "ready to accept connections",
  });
  return { ...server, port, reloadCommand: ["kill", "-HUP", String(server.pid)], stop: () => server.stop("SIGINT") };
}
