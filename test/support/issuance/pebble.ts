import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { certificate } from "../pki/certificates";
import { freePort, startListening } from "../pki/tls-servers";

/** Pebble's treatment of its clients. Without any it rejects no nonce and reuses no authorization. */
export type PebbleOptions = {
  /** Of a hundred good nonces. */
  rejectedNonces?: number;
  /** Of a hundred valid authorizations. */
  reusedAuthorizations?: number;
  /** Key ids with keys in base64url, one of which an account must be bound by. */
  externalAccounts?: Record<string, string>;
  alternateRoots?: number;
  chainLength?: number;
  ordersPerPage?: number;
  /** The file that it writes to what it does. */
  log?: string;
  isAlwaysValid?: boolean;
  /** How long certificates are valid: five years unless said. */
  validitySeconds?: number;
  /** The port at which the hosts of all names answer http-01: all names lead to loopback. */
  httpPort?: number;
  /** The same for tls-alpn-01. */
  tlsPort?: number;
  /** The name server that the CA asks, in place of the one that leads all names to loopback. */
  dnsServer?: string;
};

/** A certificate for localhost, and its authority. */
export function localhostIdentity() {
  const authority = certificate({ commonName: "Loopback Root", isCa: true });
  return { authority, identity: certificate({ commonName: "localhost", dns: ["localhost"], issuer: authority }) };
}

export const keyPemOf = ({ privateKey }: ReturnType<typeof certificate>) => String(privateKey.export({ type: "pkcs8", format: "pem" }));

/** A real Pebble, the test server of ACME, with the DNS server that it asks. */
export async function startPebble(options: PebbleOptions = {}) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-pebble-"));
  const { authority, identity } = localhostIdentity();
  const [certificateFile, keyFile, configFile] = ["cert.pem", "key.pem", "config.json"].map((name) => join(directory, name)) as [string, string, string];
  const [port, managementPort, dnsPort, dnsManagementPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  writeFileSync(certificateFile, identity.pem);
  writeFileSync(keyFile, keyPemOf(identity));
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: certificateFile,
    privateKey: keyFile,
    httpPort: options.httpPort ?? 80,
    tlsPort: options.tlsPort ?? 443,
    ...(options.validitySeconds && { certificateValidityPeriod: options.validitySeconds }),
    externalAccountBindingRequired: options.externalAccounts !== undefined,
    ...(options.externalAccounts && { externalAccountMACKeys: options.externalAccounts }),
  };
  writeFileSync(configFile, JSON.stringify({ pebble }));
  const names = ["-dns01", `127.0.0.1:${dnsPort}`, "-management", `127.0.0.1:${dnsManagementPort}`, "-defaultIPv6", ""];
  const dns = await startListening(["pebble-challtestsrv", ...names, "-http01", "", "-https01", "", "-tlsalpn01", ""], dnsManagementPort);
  const server = await startListening(["pebble", "-config", configFile, "-dnsserver", options.dnsServer ?? `127.0.0.1:${dnsPort}`], port, {
    ...(options.log && { log: options.log }),
    environment: {
      PEBBLE_VA_NOSLEEP: "1",
      PEBBLE_WFE_NONCEREJECT: String(options.rejectedNonces ?? 0),
      PEBBLE_AUTHZREUSE: String(options.reusedAuthorizations ?? 0),
      PEBBLE_ALTERNATE_ROOTS: String(options.alternateRoots ?? 0),
      PEBBLE_CHAIN_LENGTH: String(options.chainLength ?? 1),
      PEBBLE_WFE_ORDERS_PER_PAGE: String(options.ordersPerPage ?? 3),
      ...(options.isAlwaysValid && { PEBBLE_VA_ALWAYS_VALID: "1" }),
    },
  });
  const manage = async (path: string) => {
    const answer = await fetch(`https://localhost:${managementPort}${path}`, { tls: { ca: authority.pem } });
    return answer.text();
  };
  return {
    pid: server.pid,
    url: `https://localhost:${port}`,
    directoryUrl: `https://localhost:${port}/dir`,
    caBundlePem: authority.pem,
    root: (index = 0) => manage(`/roots/${index}`),
    async statusOf(serialNumber: string): Promise<{ Status: string; Reason?: number }> {
      return JSON.parse(await manage(`/cert-status-by-serial/${serialNumber.toLowerCase()}`));
    },
    async stop() {
      await Promise.all([server.stop(), dns.stop()]);
      rmSync(directory, { recursive: true });
    },
  };
}

export type Pebble = Awaited<ReturnType<typeof startPebble>>;
