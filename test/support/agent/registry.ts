import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { connect, createServer as createProxy } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Issued } from "../pki/authority";
import { runs } from "../pki/tls-clients";

const digestOf = (text: string) => `sha256:${new Bun.CryptoHasher("sha256").update(text).digest("hex")}`;

const CONFIG = JSON.stringify({ architecture: "amd64", os: "linux", rootfs: { type: "layers", diff_ids: [] } });
const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
const MANIFEST = JSON.stringify({
  schemaVersion: 2,
  mediaType: MANIFEST_TYPE,
  config: { mediaType: "application/vnd.oci.image.config.v1+json", digest: digestOf(CONFIG), size: CONFIG.length },
  layers: [],
});

/** A registry with one empty image; with `clientCa`, only for those who present a certificate of that authority. */
export async function serveRegistry({ pem, privateKeyPem, chain }: Issued, clientCa?: string) {
  const tls = { cert: pem + chain.slice(0, -1).join(""), key: privateKeyPem, ...(clientCa && { ca: clientCa, requestCert: true, rejectUnauthorized: true }) };
  const server = createServer(tls, ({ url = "/", method }, response) => {
    const body = url.includes("/manifests/") ? MANIFEST : url.includes("/blobs/") ? CONFIG : "{}";
    const type = url.includes("/manifests/") ? MANIFEST_TYPE : "application/json";
    response.writeHead(200, { "content-type": type, "content-length": body.length, "docker-content-digest": digestOf(body) });
    response.end(method === "HEAD" ? "" : body);
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  async function stop() {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
  return { port, stop };
}

/** Returns whether a tool gets the image from the registry at the port; any failure but one of TLS is an error. */
async function gets(argv: string[], environment: Record<string, string> = {}) {
  const { isGood, stderr } = await runs(argv, environment);
  if (!isGood && !/x509|tls: /.test(stderr)) throw new Error(`${argv[0]}: ${stderr}`);
  return isGood;
}

/** By skopeo, which reads the directory as Docker, Podman, Buildah and CRI-O do. */
export const skopeoGets = (directory: string, port: number) =>
  gets(["/usr/bin/skopeo", "inspect", "--raw", "--cert-dir", directory, `docker://127.0.0.1:${port}/app:1`]);

/** By a containerd of its own, for which registry.test is the registry at the port. */
export async function startContainerd() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-containerd-"));
  const config = join(directory, "config.toml");
  const address = join(directory, "socket");
  writeFileSync(
    config,
    `version = 2\nroot = "${directory}/root"\nstate = "${directory}/state"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "${address}"\n`,
  );
  const child = Bun.spawn(["containerd", "--config", config], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  let port = 0;
  const proxy = createProxy((socket) => {
    const other = connect(port, "127.0.0.1").on("error", () => socket.destroy());
    socket.on("error", () => other.destroy());
    socket.once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(other).pipe(socket);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const environment = { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as { port: number }).port}` };
  while (!(await runs(["/usr/bin/ctr", "--address", address, "version"])).isGood) await Bun.sleep(50);
  async function stop() {
    child.kill();
    proxy.close();
    await child.exited;
    rmSync(directory, { recursive: true });
  }
  /** With the directories of registries in `hosts`. */
  function containerdGets(hosts: string, at: number) {
    port = at;
    return gets(["/usr/bin/ctr", "--address", address, "content", "fetch", "--hosts-dir", hosts, "registry.test/app:1"], environment);
  }
  return { containerdGets, stop };
}
