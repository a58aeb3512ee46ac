import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, startListening } from "../pki/tls-servers";

/** A real Caddy as a private CA: its directory is served under a certificate of its own authority. It validates http-01 at port 80. */
export async function startCaddy() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-caddy-"));
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const config = join(directory, "Caddyfile");
  writeFileSync(
    config,
    `{\n admin off\n http_port ${httpPort}\n https_port ${httpsPort}\n skip_install_trust\n storage file_system ${directory}/storage\n}\nhttps://localhost:${httpsPort} {\n bind 127.0.0.1\n tls internal\n acme_server\n}\n`,
  );
  const server = await startListening(["caddy", "run", "--config", config, "--adapter", "caddyfile"], httpsPort, {
    environment: { HOME: directory, XDG_DATA_HOME: join(directory, "data"), XDG_CONFIG_HOME: join(directory, "config") },
    word: "serving initial configuration",
  });
  const root = join(directory, "storage/pki/authorities/local/root.crt");
  while (!existsSync(root)) await Bun.sleep(20);
  const [directoryUrl, caBundlePem] = [`https://localhost:${httpsPort}/acme/local/directory`, readFileSync(root, "utf8")];
  const answers = () => fetch(directoryUrl, { tls: { ca: caBundlePem } }).catch(() => undefined);
  while (!(await answers())?.ok) await Bun.sleep(20); // it makes its own certificate first
  return {
    directoryUrl,
    caBundlePem,
    async stop() {
      await server.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

/**
 * An address of loopback at whose port 80 the server at `url` is reached, as through a proxy that keeps the Host; only root may
 * open that port.
 */
export function startPort80(url: string) {
  const hostname = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}.${1 + Math.floor(Math.random() * 250)}`;
  const server = Bun.serve({
    port: 80,
    hostname,
    fetch: (request) => fetch(new URL(new URL(request.url).pathname, url), { headers: { host: request.headers.get("host") ?? "" } }),
  });
  return { address: hostname, stop: () => server.stop(true) };
}
