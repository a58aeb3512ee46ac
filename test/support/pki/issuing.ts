import { X509Certificate } from "node:crypto";
import type { Name } from "#modules/issuance/authorities/rules/names";
import { issueCertificate, type Wanted } from "#modules/issuance/authorities/services/issue";
import type { TestOrganization } from "../server/people";
import { world } from "../server/world";
import { newRequest, type Openssl } from "./openssl";

export const rootBody = { kind: "root", name: "Root CA", subject: { commonName: "Example Root CA", organization: "Example", country: "DE" } };
export const issuingBody = { name: "Issuing CA", subject: { commonName: "Example Issuing CA", organization: "Example" } };

/** Creates an authority; answers what the API says of it. */
export async function newAuthority({ admin }: TestOrganization, body: object) {
  const answer = await admin("POST", "/authorities", { body });
  if (answer.status !== 201) throw new Error(`the authority was answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

/** A root and an issuing CA below it. */
export async function newHierarchy(organization: TestOrganization, root: object = {}, issuing: object = {}) {
  const body = await newAuthority(organization, { ...rootBody, publicUrl: world.url, ...root, issuing: { ...issuingBody, ...issuing } });
  return { root: body, issuing: body.issuing };
}

export const dns = (...values: string[]): Name[] => values.map((value) => ({ type: "dns", value }));
export const ip = (...values: string[]): Name[] => values.map((value) => ({ type: "ip", value }));

type Wish = Partial<Omit<Wanted, "organizationId" | "authorityId">> & { algorithm?: string };

/** Has an authority issue; answers also the key, where the request was made here. */
export async function issue(
  openssl: Openssl,
  { id: organizationId }: TestOrganization,
  { id: authorityId }: { id: string },
  { algorithm, ...wish }: Wish = {},
) {
  const request = await newRequest(openssl, algorithm);
  const wanted = { organizationId, authorityId, csr: request.csr, names: dns("www.example.com"), profile: null, requestId: null, ...wish };
  return { ...(await issueCertificate(world.deps, wanted)), privateKeyPem: request.privateKeyPem };
}

/** As `issue`, where it must be issued: with the certificate alone. */
export async function mustIssue(...args: Parameters<typeof issue>) {
  const issued = await issue(...args);
  if ("invalid" in issued) throw new Error(issued.invalid);
  return { ...issued, pem: new X509Certificate(issued.chainPem).toString() };
}
