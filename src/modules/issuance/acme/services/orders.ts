import { X509Certificate } from "node:crypto";
import type { Name } from "#modules/issuance/issuing/rules/driver";
import { leadsTo, linksTo, readChain } from "../rules/chains";
import { Problem, Unusable } from "../rules/problems";
import type { AcmeSettings } from "../rules/settings";
import type { Client, Signer } from "./directory";
import { certificateIdOf } from "./renewal-info";

/** Of an account's list of orders: pages and alternate chains that are read. */
const MAX_PAGES = 20;
const MAX_ALTERNATES = 5;

export type Order = {
  url: string;
  status: string;
  authorizations: string[];
  finalize: string;
  certificate: string | undefined;
  error: unknown;
  identifiers: unknown;
  retryAfter: string | undefined;
};

type Wanted = { names: Name[]; profile: string | null; replaces: string | null };

/**
 * Makes an order. The certificate that it renews, and the profile, are named where the directory knows such (RFC 9773,
 * draft-aaron-acme-profiles).
 */
export async function newOrder(client: Client, signer: Signer, { names, profile, replaces }: Wanted): Promise<string> {
  const { newOrder, renewalInfo, meta } = await client.directory();
  if (profile !== null && meta.profiles && !Object.hasOwn(meta.profiles, profile))
    throw new Unusable(`The CA has no profile ${profile}; it has ${Object.keys(meta.profiles).slice(0, 20).join(", ")}.`, true);
  if (profile !== null && !meta.profiles) throw new Unusable(`The CA has no profiles, so none called ${profile}.`, true);
  const predecessor = replaces !== null && renewalInfo !== undefined ? certificateIdOf(replaces) : undefined;
  const { location } = await client.post(
    newOrder,
    { identifiers: names, ...(profile !== null && { profile }), ...(predecessor !== undefined && { replaces: predecessor }) },
    signer,
  );
  if (!location) throw new Unusable("The CA made an order and does not say where it is.", true);
  return location;
}

/**
 * Returns the addresses of the account's orders of exactly these names that wait for something; none where the directory lists no orders.
 */
export async function findOrders(client: Client, signer: Required<Signer>, names: Name[]): Promise<string[]> {
  const account = await client.post(signer.accountUrl, undefined, signer).catch(undefinedIfUnknown);
  const found: string[] = [];
  let page = typeof account?.json.orders === "string" ? account.json.orders : undefined;
  for (let pages = 0; page !== undefined && pages < MAX_PAGES; pages++) {
    const { json, link, url } = await client.post(page, undefined, signer);
    const listed = Array.isArray(json.orders) ? json.orders.filter((each) => typeof each === "string") : [];
    for (const address of listed) {
      const order = await readOrder(client, signer, address).catch(undefinedIfUnknown);
      if (order && ["pending", "ready"].includes(order.status) && isOf(order.identifiers, names)) found.push(order.url);
    }
    [page] = linksTo("next", link, url);
  }
  return found;
}

/** Not every directory shows accounts, and an order of the list may be gone by now. */
export function undefinedIfUnknown(error: unknown) {
  if (error instanceof Problem && (error.status === 404 || error.status === 405)) return undefined;
  throw error;
}

/** True where the identifiers of an order are these names, in whatever order. */
function isOf(identifiers: unknown, names: Name[]) {
  const inWords = (list: unknown) => (Array.isArray(list) ? list.map((each) => `${each?.type} ${`${each?.value}`.toLowerCase()}`).sort() : []);
  return Bun.deepEquals(inWords(identifiers), inWords(names));
}

export const readOrder = async (client: Client, signer: Signer, url: string) => toOrder(await client.post(url, undefined, signer), url);

/** Asks the CA to issue by this CSR. */
export const finalizeOrder = async (client: Client, signer: Signer, { url, finalize }: Order, csr: Uint8Array) =>
  toOrder(await client.post(finalize, { csr: Buffer.from(csr).toString("base64url") }, signer), url);

type OrderAnswer = Awaited<ReturnType<Client["post"]>>;

function toOrder({ json, retryAfter }: OrderAnswer, url: string): Order {
  const { status, authorizations, finalize, certificate, error, identifiers } = json;
  if (typeof status !== "string" || typeof finalize !== "string" || !Array.isArray(authorizations))
    throw new Unusable("The CA answered something else than an order.", true);
  return {
    url,
    status,
    authorizations: authorizations.map(String),
    finalize,
    certificate: typeof certificate === "string" ? certificate : undefined,
    error,
    identifiers,
    retryAfter,
  };
}

export async function readAuthorization(client: Client, signer: Signer, url: string) {
  const { json } = await client.post(url, undefined, signer);
  return json;
}

/**
 * Has the CA revoke a certificate (RFC 8555, 7.6); `reason` is a CRLReason, which a CA need not take. One that is revoked already is as
 * good.
 */
export async function revokeAt(client: Client, signer: Signer, pem: string, reason: number | undefined): Promise<void> {
  const { revokeCert } = await client.directory();
  if (revokeCert === undefined) throw new Unusable("The CA revokes no certificates.", true);
  const certificate = new X509Certificate(pem).raw.toString("base64url");
  try {
    await client.post(revokeCert, { certificate, ...(reason !== undefined && { reason }) }, signer);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.type === "badRevocationReason" && reason !== undefined) return revokeAt(client, signer, pem, undefined);
    if (error.type !== "alreadyRevoked") throw error;
  }
}

/**
 * Returns the chain of an order that has been issued: the first that leads to the preferred issuer, or else what the CA sends by itself.
 */
export async function downloadChain(client: Client, signer: Signer, { certificate }: Order, { preferredChain }: Pick<AcmeSettings, "preferredChain">) {
  if (certificate === undefined) throw new Unusable("The CA calls the order valid and has no certificate for it.", true);
  const { body, link, url } = await client.post(certificate, undefined, signer, true);
  const own = readChain(body);
  if (preferredChain === undefined || leadsTo(own, preferredChain)) return toPem(own);
  for (const alternate of linksTo("alternate", link, url).slice(0, MAX_ALTERNATES)) {
    const other = readChain((await client.post(alternate, undefined, signer, true)).body);
    if (leadsTo(other, preferredChain)) return toPem(other);
  }
  return toPem(own);
}

const toPem = (chain: X509Certificate[]) => chain.map((each) => each.toString()).join("");
