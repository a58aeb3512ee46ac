import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAcmeDriver, type Keep } from "#modules/issuance/acme/services/driver";
import { http01, type Solvers } from "#modules/issuance/acme/services/solvers";
import type { Driver, Issuing, Name, OpenIssuer, Step } from "#modules/issuance/issuing/rules/driver";
import { world } from "../server/world";

export const newAccountKey = () => String(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }));

/** A key and a CSR of these names by openssl, the CSR in DER. */
export function newCsr(names: Name[]) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-csr-"));
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(join(directory, "key.pem"), privateKey.export({ type: "pkcs8", format: "pem" }));
  const alternatives = names.map(({ type, value }) => `${type === "ip" ? "IP" : "DNS"}:${value}`).join(",");
  const argv = ["openssl", "req", "-new", "-key", "key.pem", "-subj", "/", "-addext", `subjectAltName=${alternatives}`, "-outform", "DER", "-out", "csr.der"];
  const { exitCode, stderr } = Bun.spawnSync(argv, { cwd: directory });
  if (exitCode !== 0) throw new Error(`openssl: ${stderr}`);
  const csr = new Uint8Array(readFileSync(join(directory, "csr.der")));
  rmSync(directory, { recursive: true });
  return { csr, privateKey };
}

type Directory = { directoryUrl: string; caBundlePem: string };

export const newIssuer = ({ directoryUrl, caBundlePem }: Directory, config: object = {}, secrets: Record<string, string> = {}): OpenIssuer => ({
  organizationId: Bun.randomUUIDv7(),
  id: Bun.randomUUIDv7(),
  kind: "acme",
  name: "Test CA",
  config: { directoryUrl, caBundlePem, contact: [], termsOfServiceAgreed: true, challenges: [{ type: "http-01" }], ...config },
  secrets: { accountKeyPem: newAccountKey(), ...secrets },
  account: null,
});

/** Names the organization of an issuer for an address, as staff does. */
export const nameFor = ({ organizationId }: OpenIssuer, address: string) => world.sql`
  insert into domain_holders (domain, organization_id) values (${address}, ${organizationId})
  on conflict (domain) do update set organization_id = excluded.organization_id, until = null`;

export const dnsNames = (...values: string[]): Name[] => values.map((value) => ({ type: "dns", value }));
export const newName = () => `${crypto.randomUUID()}.example`;

/** Keeps what outlives a step in this process. */
export function keepInMemory() {
  const begun = new Set<string>();
  let keyPem: string | undefined;
  const keep: Keep = {
    saveAccount: async () => {},
    hasOtherKeys: async ({ secrets }) => keyPem !== undefined && secrets.accountKeyPem !== keyPem,
    async changeKey(_, nextKeyPem) {
      keyPem = nextKeyPem;
    },
    async beginOrder({ requestId }) {
      const isRepeated = begun.has(requestId);
      begun.add(requestId);
      return isRepeated;
    },
    unclaimed: async (_, urls) => urls,
  };
  return keep;
}

const byThisServer: Solvers = (_, __, request) => http01({ sql: world.sql, stamps: world.deps.stamps, clock: () => new Date(), ownNames: () => [] }, request);

export const newDriver = ({ allowPrivate = true, solvers = byThisServer, clock = () => new Date(), keep = keepInMemory() } = {}) =>
  createAcmeDriver({ allowPrivate, clock, keep, solvers });

/** Takes steps until the request has come to an end, or `until` says so; a fault is tried again at once. Returns every step. */
export async function takeSteps(
  driver: Driver,
  issuer: OpenIssuer,
  wanted: Partial<Issuing> & Pick<Issuing, "names">,
  until: (step: Step) => boolean = () => false,
) {
  const issuing: Issuing = {
    organizationId: issuer.organizationId,
    requestId: Bun.randomUUIDv7(),
    issuerId: issuer.id,
    profile: null,
    csr: wanted.csr ?? newCsr(wanted.names).csr,
    replaces: null,
    hostProof: null,
    approvedTerms: null,
    progress: undefined,
    ...wanted,
  };
  const steps: Step[] = [];
  for (;;) {
    const step = await driver.take(issuer, issuing, new AbortController().signal);
    steps.push(step);
    if ("progress" in step && step.progress) issuing.progress = step.progress;
    if (step.to === "issued" || step.to === "failed" || until(step)) return { steps, last: step, issuing };
    await Bun.sleep(20); // the CA validates
  }
}
