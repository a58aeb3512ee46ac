import { createPrivateKey, type KeyObject } from "node:crypto";
import { makeEcdsaKey } from "#crypto/private-keys";
import type { Sql } from "#db/connect";
import { beginAt, issueResponder, newSerialNumber } from "#modules/issuance/authorities/services/certificates";
import { publicKeyOf } from "#modules/issuance/authorities/services/keys";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import { findPublication, type Publication, saveResponder } from "../queries";
import { earlier, openAuthority, scopeOf } from "./authority";

const DAY_MS = 86_400_000;
/** A responder is renewed with ten of its days left: longer than its answers count. */
const LIFE_MS = 30 * DAY_MS;
const RENEWED_AFTER_MS = 20 * DAY_MS;

/** The signer of an authority's answers: a P-256 key of its own, so that the authority's key signs only certificates and CRLs. */
export type OpenResponder = { key: KeyObject; certificate: Uint8Array };

const contextOf = ({ organizationId, authorityId }: Publication) => `ocsp-responder-key ${organizationId} ${authorityId}`;

/** Returns the responder of an authority, renewed first where that is due. */
export async function openResponder(deps: IssuingDeps, published: Publication): Promise<OpenResponder> {
  return isDue(published, deps.clock()) ? deps.sql.begin((tx) => openLocked(deps, tx, published.authorityId)) : open(deps, published);
}

/** The same in a transaction. */
export async function openLocked(deps: IssuingDeps, tx: Sql, authorityId: string): Promise<OpenResponder> {
  const locked = await findPublication(tx, authorityId, "wait");
  if (!locked) throw new Error("an authority is gone while it answers");
  return isDue(locked, deps.clock()) ? renewResponder(deps, tx, locked) : open(deps, locked);
}

const isDue = ({ responderCertificate, responderDueAt }: Publication, now: Date) => !responderCertificate || (responderDueAt !== null && responderDueAt <= now);

function open({ config }: IssuingDeps, published: Publication): OpenResponder {
  const { responderCertificate: certificate, sealedResponderKey: sealed } = published;
  if (!certificate || !sealed) throw new Error("a responder has no certificate");
  return { key: createPrivateKey(config.keyring.unseal(sealed, contextOf(published))), certificate };
}

/** Makes the next responder of a publication that is held. */
async function renewResponder(deps: IssuingDeps, tx: Sql, published: Publication): Promise<OpenResponder> {
  const now = deps.clock();
  const key = makeEcdsaKey("ecdsa-p256");
  const notBefore = beginAt(now);
  const notAfter = earlier(new Date(notBefore.getTime() + LIFE_MS), published.notAfter);
  const certificate = await issueResponder(await openAuthority(tx, deps, published), {
    publicKey: publicKeyOf(key),
    serialNumber: newSerialNumber(),
    notBefore,
    notAfter,
  });
  const sealedKey = deps.config.keyring.seal(key.export({ type: "pkcs8", format: "pem" }).toString(), contextOf(published));
  const dueAt = notAfter < published.notAfter ? new Date(now.getTime() + RENEWED_AFTER_MS) : null; // the last one is as good as its authority
  await saveResponder(tx, scopeOf(published), published.authorityId, { certificate, sealedKey, dueAt });
  return { key, certificate };
}
