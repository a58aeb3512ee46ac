import { certificate } from "../pki/certificates";
import { keyPemOf, localhostIdentity } from "./pebble";

/** A request: its path, and the protected header and the payload of its JWS. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads what the client sent
export type Asked = { method: string; path: string; header: any; payload: any };
type Answer = Response | Promise<Response>;
/** In place of what a CA answers at a path; `normal` is that. */
export type Conduct = Record<string, (asked: Asked, normal: () => Answer) => Answer>;

const TOKEN = "a-token-of-the-tests-1234567890";

export const problem = (type: string, detail = "", status = 400, headers: Record<string, string> = {}) =>
  Response.json({ type: `urn:ietf:params:acme:error:${type}`, detail }, { status, headers: { "content-type": "application/problem+json", ...headers } });

/**
 * Starts our own ACME directory, for answers that no real CA gives: it checks neither signatures nor names, and issues one
 * certificate by its own key. `conduct` replaces its answers, by path.
 */
export function startDirectory(conduct: Conduct = {}, { directory = {}, meta = {} }: { directory?: object; meta?: object } = {}) {
  const { authority, identity } = localhostIdentity();
  const asked: Asked[] = [];
  let nonces = 0;
  let order: { status: string; identifiers: { type: string; value: string }[] } = { status: "pending", identifiers: [] };

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { cert: identity.pem, key: keyPemOf(identity) },
    idleTimeout: 0,
    async fetch(request) {
      const { pathname: path } = new URL(request.url);
      const text = await request.text();
      const { protected: header = "", payload = "" } = text === "" ? {} : JSON.parse(text);
      const each = { method: request.method, path, header: decode(header), payload: decode(payload) };
      asked.push(each);
      const answer = await (conduct[path]?.(each, () => normal(each)) ?? normal(each));
      answer.headers.set("replay-nonce", `nonce-${++nonces}`);
      return answer;
    },
  });
  const url = `https://localhost:${server.port}`;

  const orderJson = () => ({ ...order, authorizations: [`${url}/authorization`], finalize: `${url}/finalize`, certificate: `${url}/certificate` });

  function normal({ path, payload }: Asked): Response {
    switch (path) {
      case "/directory":
        return Response.json({ newNonce: `${url}/nonce`, newAccount: `${url}/account`, newOrder: `${url}/orders`, ...directory, meta });
      case "/nonce":
        return new Response(null);
      case "/account":
        return Response.json({ status: "valid" }, { status: 201, headers: { location: `${url}/account/1` } });
      case "/orders":
        order = { status: "pending", identifiers: payload.identifiers };
        return Response.json(orderJson(), { status: 201, headers: { location: `${url}/order` } });
      case "/order":
        return Response.json(orderJson());
      case "/authorization":
        return Response.json({
          status: order.status === "pending" ? "pending" : "valid",
          identifier: order.identifiers[0],
          challenges: [{ type: "http-01", url: `${url}/challenge`, token: TOKEN, status: "pending" }],
        });
      case "/challenge":
        order.status = "ready";
        return Response.json({ type: "http-01", url: `${url}/challenge`, token: TOKEN, status: "processing" });
      case "/finalize":
        order.status = "valid";
        return Response.json(orderJson());
      case "/certificate":
        return new Response(certificate({ dns: order.identifiers.map(({ value }) => value), issuer: authority, days: 90 }).pem + authority.pem);
      default:
        return problem("malformed", "there is nothing here", 404);
    }
  }

  return { url, directoryUrl: `${url}/directory`, caBundlePem: authority.pem, asked, authority, stop: () => server.stop(true) };
}

/** An answer in JSON with some of its fields replaced. */
export const changed = async (answer: Answer, fields: object) => Response.json({ ...((await (await answer).json()) as object), ...fields });

const decode = (text: string) => (text === "" ? undefined : JSON.parse(Buffer.from(text, "base64url").toString()));
