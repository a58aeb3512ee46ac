import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type TLSSocket } from "node:tls";
import { fingerprintOf } from "#agent/host/pem";

async function openssl(directory: string, ...args: string[]) {
  const child = Bun.spawn(["openssl", ...args], { cwd: directory, stdout: "ignore", stderr: "pipe" });
  const faults = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(`openssl ${args[0]}: ${faults}`);
}

type Names = { commonName: string; extensions: string };
export type Issued = { pem: string; privateKeyPem: string; chain: string[]; fingerprint: string };

/** A root and an intermediate made by openssl, and certificates by the intermediate. */
export async function newAuthority(name = `Scratch ${crypto.randomUUID().slice(0, 8)}`) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-authority-"));
  let serial = 0;

  async function issue(file: string, { commonName, extensions }: Names, issuer?: string) {
    writeFileSync(join(directory, `${file}.cnf`), `[req]\ndistinguished_name=dn\nprompt=no\n[dn]\nCN=${commonName}\n[ext]\n${extensions}\n`);
    await openssl(
      directory,
      "req",
      "-new",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-keyout",
      `${file}.key`,
      "-out",
      `${file}.csr`,
      "-config",
      `${file}.cnf`,
    );
    const by = issuer ? ["-CA", `${issuer}.pem`, "-CAkey", `${issuer}.key`, "-set_serial", String(++serial)] : ["-signkey", `${file}.key`];
    await openssl(
      directory,
      "x509",
      "-req",
      "-in",
      `${file}.csr`,
      ...by,
      "-days",
      "90",
      "-out",
      `${file}.pem`,
      "-extfile",
      `${file}.cnf`,
      "-extensions",
      "ext",
    );
    return read(file);
  }
  const read = (file: string) => ({
    pem: readFileSync(join(directory, `${file}.pem`), "utf8"),
    privateKeyPem: readFileSync(join(directory, `${file}.key`), "utf8"),
  });

  const ca = "basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash";
  const root = await issue("root", { commonName: `${name} Root`, extensions: ca });
  const intermediate = await issue("intermediate", { commonName: `${name} Intermediate`, extensions: `${ca}\nauthorityKeyIdentifier=keyid` }, "root");

  /** A server's certificate for these DNS names (127.0.0.1 too), with its chain up to the root. */
  async function issueServer(...names: string[]): Promise<Issued> {
    const alternatives = [...names.map((each) => `DNS:${each}`), "IP:127.0.0.1"].join(",");
    const extensions = `basicConstraints=CA:false\nextendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=${alternatives}`;
    const issued = await issue(`leaf-${crypto.randomUUID()}`, { commonName: names[0] ?? "localhost", extensions }, "intermediate");
    return { ...issued, chain: [intermediate.pem, root.pem], fingerprint: fingerprintOf(issued.pem) };
  }

  /** The certificate that a signing request asks for: its names, for its key. */
  async function sign(csrPem: string) {
    const file = `signed-${crypto.randomUUID()}`;
    writeFileSync(join(directory, `${file}.csr`), csrPem);
    writeFileSync(join(directory, `${file}.cnf`), "[ext]\nbasicConstraints=CA:false\nextendedKeyUsage=serverAuth,clientAuth\n");
    const by = ["-CA", "intermediate.pem", "-CAkey", "intermediate.key", "-set_serial", String(++serial), "-copy_extensions", "copyall"];
    const how = ["-days", "90", "-extfile", `${file}.cnf`, "-extensions", "ext"];
    await openssl(directory, "x509", "-req", "-in", `${file}.csr`, ...by, ...how, "-out", `${file}.pem`);
    const pem = readFileSync(join(directory, `${file}.pem`), "utf8");
    return { pem, chain: [intermediate.pem, root.pem], fingerprint: fingerprintOf(pem) };
  }

  return {
    sign,
    root: { ...root, chain: [] as string[], fingerprint: fingerprintOf(root.pem) },
    intermediate: { ...intermediate, chain: [root.pem], fingerprint: fingerprintOf(intermediate.pem) },
    issueServer,
    remove: () => rmSync(directory, { recursive: true }),
  };
}

/**
 * A TLS server on loopback that presents the certificate and its intermediates, and greets in HTTP; with `clientCa`, only that
 * authority's clients.
 */
export async function serveTls({ pem, privateKeyPem, chain }: Issued, clientCa?: string) {
  const clients = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true };
  const server = createServer({ cert: pem + chain.slice(0, -1).join(""), key: privateKeyPem, ...clients }, (socket: TLSSocket) => {
    socket.on("error", () => {}); // a client that refuses the certificate hangs up in the middle
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\ntrusted"));
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return { port, url: `https://127.0.0.1:${port}/`, stop: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}
