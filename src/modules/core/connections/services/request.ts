import { AwsV4Signer } from "aws4fetch";
import type { Values } from "#catalogue/fields";
import type { Login, Way } from "#modules/core/connectors/rules/auth-methods";
import type { Verify } from "#modules/core/connectors/rules/kinds";
import { withoutEnd } from "#outbound/address-policy";
import type { Call, Tls } from "#outbound/call";

/** Replaces each `{name}` by its value, which `encode` makes fit. */
const fill = (text: string, values: Values, encode = (value: string) => value) =>
  text.replace(/\{(\w+)\}/g, (_, name) => (values[name] === undefined ? "" : encode(String(values[name]))));

/** The same of every text of a flat object, without those that come to nothing. */
const fillAll = (texts: Record<string, unknown>, values: Values) =>
  Object.fromEntries(
    Object.entries(texts)
      .map(([name, text]) => [name, typeof text === "string" ? fill(text, values) : text])
      .filter(([, text]) => text !== ""),
  );

/** The request of a check. Throws a TypeError where its address is none with these values. */
export function toCall(verify: Verify, way: Way, values: Values): Call {
  const [user = "", password = ""] = way.basic ?? [];
  const body = verify.body && JSON.stringify(fillAll(verify.body, values));
  const headers = {
    accept: "application/json",
    "user-agent": "certitude",
    ...(body && { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
    ...optionalHeaders(verify, values),
    ...Object.fromEntries(Object.entries(way.headers ?? {}).map(([name, text]) => [name, fill(text, values)])),
    ...(way.basic && { authorization: `Basic ${Buffer.from(`${fill(user, values)}:${fill(password, values)}`).toString("base64")}` }),
  };
  return { method: verify.method, url: under(baseOf(verify, way, values), way.path ?? verify.path, values), headers, body, tls: toTls(way, values) };
}

/** The request for a token that comes before a check. */
export function toLogin({ base, path = "", defaults, token: _, ...sent }: Login, verify: Verify, way: Way, given: Values): Call {
  const values = { ...defaults, ...given };
  const isForm = "form" in sent;
  const body = isForm ? new URLSearchParams(fillAll(sent.form, values) as Record<string, string>).toString() : JSON.stringify(fillAll(sent.json, values));
  const headers = {
    ...optionalHeaders(verify, values),
    accept: "application/json",
    "user-agent": "certitude",
    "content-type": isForm ? "application/x-www-form-urlencoded" : "application/json",
    "content-length": String(Buffer.byteLength(body)),
  };
  return { method: "POST", url: under(base.includes("://") ? base : String(values[base]), path, values), headers, body, tls: toTls(way, values) };
}

const optionalHeaders = ({ headers = {} }: Verify, values: Values) =>
  Object.fromEntries(Object.entries(fillAll(headers, values)).map(([name, text]) => [name.toLowerCase(), String(text)]));

function baseOf(verify: Verify, { base = verify.base, endpoint }: Way, values: Values) {
  if (!endpoint) return base.includes("://") ? fill(base, values, encodeURIComponent) : String(values[base]);
  const url = new URL(String(values[endpoint.field] ?? fill(endpoint.otherwise, values, encodeURIComponent)));
  return url.href.replace("://", `://${fill(endpoint.prefix ?? "", values, encodeURIComponent)}`);
}

/**
 * A value may be several parts of a path, such as the mount pki/team-a. Throws a TypeError for parts that lead elsewhere, which
 * no escape keeps from that.
 */
function inPath(value: string) {
  if (/(^|\/)\.\.?(\/|$)/.test(value)) throw Object.assign(new TypeError("a value has . or .. as a part of the path"), { code: "ERR_INVALID_URL" });
  return encodeURIComponent(value).replaceAll("%2F", "/");
}

/** A path below an address, which may have a path of its own. */
function under(base: string, path: string, values: Values) {
  const url = new URL(base);
  const [pathname = "", query = ""] = path.split("?");
  if (path === "") return url;
  url.pathname = withoutEnd(url.pathname, "/") + fill(pathname, values, inPath);
  url.search = query;
  return url;
}

function toTls(way: Way, { caBundlePem, clientCertificatePem, clientKeyPem }: Values): Tls {
  return {
    ...(caBundlePem !== undefined && { ca: String(caBundlePem) }),
    ...(way.clientCertificate && { cert: String(clientCertificatePem), key: String(clientKeyPem) }),
  };
}

/** The same request, signed as AWS wants it (Signature Version 4). */
export async function sign(call: Call, service: string, { accessKeyId, secretAccessKey, sessionToken, region }: Values, now: Date): Promise<Call> {
  const { "content-length": _, ...headers } = call.headers; // a proxy may change it
  const signer = new AwsV4Signer({
    method: call.method,
    url: call.url.href,
    headers,
    ...(call.body !== undefined && { body: call.body }),
    service,
    region: String(region),
    accessKeyId: String(accessKeyId),
    secretAccessKey: String(secretAccessKey),
    ...(sessionToken !== undefined && { sessionToken: String(sessionToken) }),
    datetime: now.toISOString().replace(/[:-]|\.\d{3}/g, ""),
  });
  const signed = await signer.sign();
  return { ...call, url: new URL(signed.url), headers: { ...call.headers, ...Object.fromEntries(signed.headers) } };
}
