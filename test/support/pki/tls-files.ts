import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { certificate } from "./certificates";

type Wish = Parameters<typeof certificate>[0];

/** The PEM files of TLS_CERT and TLS_KEY in a directory, made as an agent makes them: one after the other, each by a rename. */
export function tlsFilesIn(directory: string) {
  const env = { TLS_CERT: join(directory, "tls.pem"), TLS_KEY: join(directory, "tls.key") };
  const put = (file: string, text: string, mode = 0o600) => {
    writeFileSync(`${file}.new`, text, { mode });
    renameSync(`${file}.new`, file);
  };
  const make = (commonName: string, wish: Wish = {}) => {
    const made = certificate({ commonName, dns: ["localhost"], ...wish });
    return { pem: made.pem, key: made.privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
  };
  function write(commonName: string, wish?: Wish) {
    const { pem, key } = make(commonName, wish);
    put(env.TLS_CERT, pem);
    put(env.TLS_KEY, key);
    return pem;
  }
  return { env, put, make, write };
}

/** A TLS connection to the address, whatever its certificate. */
export async function openTls(at: string): Promise<TLSSocket> {
  const { hostname, port } = new URL(at);
  const opened = Promise.withResolvers<void>();
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, opened.resolve);
  socket.on("error", opened.reject);
  await opened.promise;
  return socket;
}

/** The common name of the certificate that is served to a new connection. */
export async function servedName(at: string) {
  const socket = await openTls(at);
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return subject.CN;
}
