import { Elysia, t } from "elysia";
import { networkOf } from "#auth/cidr";
import type { Deps } from "#deps";
import { receiveBody } from "#http/body";
import { Refusal } from "#http/errors";
import { peerAddress } from "#http/exchange";
import { PathId } from "#http/schema";
import { derOf } from "#modules/issuance/authorities/services/signer";
import { findPublication } from "./queries";
import { currentCrl } from "./services/crl";
import { answerOcsp } from "./services/ocsp";

const NO_AUTHORITY = "There is no such authority.";
const REQUEST = "application/ocsp-request";
/** In characters: what a request about a few certificates takes in base64, RFC 5019 allows less. */
const MAX_PATH = 4_096;
const OneAuthority = { params: t.Object({ authorityId: PathId }), detail: { hide: true } };

/**
 * The public routes of an authority: the addresses in its certificates. The answers are signed, so they need neither TLS nor a
 * credential.
 */
export const pki = (deps: Deps) => {
  async function answer(request: Request, authorityId: string, bytes: Uint8Array) {
    const charge = () => {
      const refusal = deps.limits.chargeAddress(networkOf(peerAddress(request)));
      if (refusal) throw refusal;
    };
    const answered = await answerOcsp(deps, authorityId, bytes, charge);
    if (!answered) throw new Refusal(404, NO_AUTHORITY);
    return send(answered.der, "application/ocsp-response", answered.nextUpdate, deps.clock());
  }

  return new Elysia({ prefix: "/pki/:authorityId" })
    .get(
      "/ca.crt",
      async ({ params }) => {
        const published = await findPublication(deps.sql, params.authorityId);
        if (!published) throw new Refusal(404, NO_AUTHORITY);
        return send(derOf(published.pem), "application/pkix-cert", undefined, deps.clock(), MAX_AGE);
      },
      OneAuthority,
    )
    .get(
      "/crl",
      async ({ params }) => {
        const crl = await currentCrl(deps, params.authorityId);
        if (!crl) throw new Refusal(404, NO_AUTHORITY);
        return send(crl.der, "application/pkix-crl", crl.nextUpdate, deps.clock());
      },
      OneAuthority,
    )
    .post(
      "/ocsp",
      async ({ params, request }) => {
        const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
        if (type !== REQUEST) throw new Refusal(415, `The body must be an OCSP request: send content-type: ${REQUEST}.`);
        return answer(request, params.authorityId, await receiveBody(request));
      },
      OneAuthority,
    )
    .get("/ocsp/*", ({ params, request }) => answer(request, params.authorityId, readPath(request)), {
      ...OneAuthority,
      params: t.Object({ authorityId: PathId, "*": PathId }), // the rest may be anything: it is read from the address
    });
};

/** The request in a path (RFC 6960, A.1): base64, of which a client may have escaped some characters. */
function readPath(request: Request) {
  const path = new URL(request.url).pathname.replace(/^\/pki\/[^/]*\/ocsp\//, "");
  return path.length > MAX_PATH ? new Uint8Array() : Buffer.from(decodePath(path), "base64");
}

function decodePath(path: string) {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}

/** In seconds: caches ask again after it, so that they learn of a revocation long before an answer ends. */
const MAX_AGE = 3_600;

function send(der: Uint8Array, type: string, nextUpdate: Date | undefined, now: Date, age = 0) {
  const left = nextUpdate ? Math.max(0, Math.floor((nextUpdate.getTime() - now.getTime()) / 1_000)) : age;
  const maxAge = Math.min(MAX_AGE, left);
  return new Response(new Uint8Array(der), {
    headers: {
      "content-type": type,
      "cache-control": maxAge > 0 ? `public, max-age=${maxAge}, no-transform, must-revalidate` : "no-store",
      ...(nextUpdate && { expires: nextUpdate.toUTCString() }),
    },
  });
}
