import type { Deps } from "#deps";
import { copyAnnotations } from "#modules/certificates/certificates/queries/annotate";
import { listActive, listAuthorities } from "#modules/certificates/certificates/queries/authorities";
import { importCertificates } from "#modules/certificates/certificates/services/import";
import { claimDomains } from "#modules/issuance/domains/queries";
import { claimOf } from "#modules/issuance/domains/rules";
import { leadsToRoot } from "#modules/issuance/domains/services/roots";
import type { Step } from "#modules/issuance/issuing/rules/driver";
import type { Scope } from "#modules/people/audit/queries";
import { parseCertificate } from "#x509/facts";
import { readPem } from "#x509/pem";
import type { Claim } from "../queries/claims";
import { deployIssued } from "../queries/deploy";
import { holdClaim, saveIssued } from "../queries/save";
import { judgeChain } from "../rules/judge";
import { openKey } from "./keys";

type Services = Pick<Deps, "sql" | "config" | "stamps" | "clock" | "trustedRoots">;
type Issued = Extract<Step, { to: "issued" }>;

/**
 * Stores what the issuer answered, where it is what was asked for, with the key that the server made, and ends the request: all or nothing.
 * Returns what the answer differs in as a sentence.
 */
export async function storeIssued(
  { sql, config: { keyring }, stamps, clock, trustedRoots }: Services,
  claim: Claim & { csr: Uint8Array },
  { chainPem, provenByDns }: Issued,
) {
  const { organizationId, names, csr, sealedPrivateKey, replaces, keyLocation } = claim;
  const judged = await judgeChain(chainPem, { csr, names, now: clock() }, async (subjectHash) => {
    const pems = await listAuthorities(sql, organizationId, subjectHash);
    return pems.flatMap((pem) => readPem(pem).flatMap((block) => ("bytes" in block ? parseCertificate(block.bytes) : [])));
  });
  if ("fault" in judged) return judged.fault;
  const { leaf, issuers } = judged;
  const isProof = provenByDns !== undefined && (await leadsToRoot((issuers.at(-1) ?? leaf).x509, trustedRoots()));
  const known = await listActive(
    sql,
    organizationId,
    issuers.map((each) => each.fingerprintSha256),
  );
  // Authorities that are stored are left alone: each order would lock their rows until it ends, and hold up the others.
  const pem = [leaf, ...issuers.filter((each) => !known.has(each.fingerprintSha256))].map((each) => each.pem).join("");
  const privateKeyPem = sealedPrivateKey ? openKey(keyring, sealedPrivateKey, claim) : undefined;
  const scope: Scope = { organizationId, actor: { type: "server" }, requestId: null };
  await sql.begin(async (tx) => {
    if (!(await holdClaim(tx, claim))) return;
    const report = await importCertificates(tx, { keyring, stamps }, scope, { pem, privateKeyPem });
    if ("invalid" in report) throw new Error(`a chain that was judged cannot be stored: ${report.invalid}`);
    const stored = [...report.imported, ...report.duplicates].find(({ fingerprintSha256 }) => fingerprintSha256 === leaf.fingerprintSha256);
    if (!stored) throw new Error(`certificate ${leaf.fingerprintSha256} vanished during its import`);
    if (isProof) await claimDomains(tx, scope, claimOf(names, provenByDns, leaf.notAfter));
    const notDeployed = keyLocation === "agent" ? await deployIssued(tx, stamps, scope, claim.id, stored.id) : undefined;
    await Promise.all([
      replaces && copyAnnotations(tx, scope, { from: replaces, to: stored.id }),
      saveIssued(tx, claim, { id: stored.id, notAfter: leaf.notAfter }, notDeployed),
    ]);
  });
}
