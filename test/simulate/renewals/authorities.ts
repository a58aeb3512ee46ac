import { readFileSync } from "node:fs";
import { startPebble } from "../../support/issuance/pebble";
import { startProxy } from "../../support/server/proxy";
import type { Certitude } from "./certitude";

const ORDERS_PER_PAGE = 1_000;

/** Who issues: an authority of Certitude's own, and Pebble, which validates over HTTP and can be away. Their certificates live as long as one another's. */
export async function startAuthorities({ ask, url }: Certitude, lifetimeSeconds: number, log: string) {
  const profiles = [{ name: "short", usage: "server", defaultLifetimeSeconds: lifetimeSeconds, maxLifetimeSeconds: lifetimeSeconds }];
  const root = await ask("POST", "/authorities", {
    kind: "root",
    name: "Root",
    subject: { commonName: "Simulated Root" },
    publicUrl: url,
    issuing: { name: "Issuing", subject: { commonName: "Simulated Issuing" }, profiles },
  });
  const internal = await ask("POST", "/issuers", { kind: "internal", name: "Ours", config: { authorityId: root.issuing.id, profile: "short" } });
  const pebble = await startPebble({
    httpPort: Number(new URL(url).port),
    rejectedNonces: 5,
    ordersPerPage: ORDERS_PER_PAGE,
    validitySeconds: lifetimeSeconds,
    log,
  });
  const proxy = await startProxy({ host: "127.0.0.1", port: Number(new URL(pebble.url).port) });
  const config = { directoryUrl: `https://localhost:${proxy.port}/dir`, caBundlePem: pebble.caBundlePem, termsOfServiceAgreed: true };
  const acme = await ask("POST", "/issuers", { kind: "acme", name: "Pebble", config });
  const count = (line: RegExp) => [...readFileSync(log, "utf8").matchAll(line)].length;
  return {
    roots: [String(root.certificatePem), await pebble.root()],
    issuerIds: { internal: String(internal.id), acme: String(acme.id) },
    /** Nobody listens any more where Pebble is, and what was asked is answered to nobody. */
    sendAway: proxy.refuse,
    bringBack: proxy.accept,
    /** By Pebble's own word: the orders that were made there, and the certificates that it issued. */
    tally: () => ({ orders: count(/Added order /g), issued: count(/Issued certificate serial /g) }),
    async stop() {
      await proxy.stop();
      await pebble.stop();
    },
  };
}

export type Authorities = Awaited<ReturnType<typeof startAuthorities>>;
