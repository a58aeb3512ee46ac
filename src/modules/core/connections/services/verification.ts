import { X509Certificate } from "node:crypto";
import type { Values } from "#catalogue/fields";
import { withoutEnd } from "#outbound/address-policy";
import type { Call, Reply, Tls } from "#outbound/call";
import { describeFailure, failure } from "#outbound/failure";
import { type Limits, send } from "#outbound/http-client";
import { WAYS, type Way } from "../rules/auth-methods";
import { connectorOf, type Kind, type Verify } from "../rules/kinds";
import type { Settings } from "../rules/settings";

export type Outcome = { outcome: "ok" | "failed" | "unsupported"; message: string };

/** Below the five seconds that a request may take, so that the outcome can still be kept and told. */
const LIMIT = 4_000;

/** Does what the catalogue says of checking a connection of this kind. */
export async function verifyConnection(kind: Kind, { config, secrets }: Settings, allowPrivate: boolean): Promise<Outcome> {
  const planned = plan(kind, { ...secrets, ...config });
  if ("message" in planned) return { outcome: "unsupported", message: planned.message };
  const signal = AbortSignal.timeout(LIMIT);
  const limits = { allowPrivate, signal };
  try {
    const { call, verify } = planned;
    const ca = await fetchPinnedRoot(call, config.rootFingerprint, limits);
    const fault = findFault(verify, await send({ ...call, tls: { ...call.tls, ...ca } }, limits));
    if (fault !== undefined) return { outcome: "failed", message: fault };
    return { outcome: "ok", message: verify.checksCredentials ? "It accepted the credentials." : "It answers. Credentials are not part of this check." };
  } catch (error) {
    return { outcome: "failed", message: signal.aborted ? `It did not answer within ${LIMIT / 1_000} seconds.` : describeFailure(error) };
  }
}

/** The request of the check, or why this connection has none. */
export function plan(kind: Kind, values: Values): { call: Call; verify: Verify } | { message: string } {
  const { verify, displayName, note = "" } = connectorOf(kind);
  const ways = WAYS[kind];
  if (!verify) return { message: `There is no check for ${displayName}. ${note}`.trim() };
  if (!ways) return { message: `The check of ${displayName} needs this, which the server cannot do: ${verify.auth}.` };
  const way = ways.find(({ when = {} }) => Object.entries(when).every(([name, value]) => values[name] === value));
  if (!way) return { message: `There is a check of ${displayName} only with ${ways.map(({ when = {} }) => describe(when)).join(" or ")}.` };
  const missing = needs(way).find((name) => values[name] === undefined);
  if (missing) return { message: `The check needs ${missing}, which this connection does not have.` };
  return { call: toCall(verify, way, values), verify };
}

const describe = (when: Record<string, string>) =>
  Object.entries(when)
    .map(([name, value]) => `${name} ${value}`)
    .join(" and ");

function needs({ headers = {}, basic = ["", ""], clientCertificate }: Way) {
  const texts = [...Object.values(headers), ...basic].join(" ");
  return [...texts.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name).concat(clientCertificate ? ["clientCertificatePem", "clientKeyPem"] : []);
}

function toCall(verify: Verify, way: Way, values: Values): Call {
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
  const [user = "", password = ""] = way.basic ?? [];
  const optional = Object.entries(verify.headers ?? {}).map(([name, text = ""]) => [name, fill(text)] as const);
  const body = verify.body && JSON.stringify(verify.body);
  const headers = {
    accept: "application/json",
    "user-agent": "certitude",
    ...(body && { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
    ...Object.fromEntries(optional.filter(([, text]) => text !== "").map(([name, text]) => [name.toLowerCase(), text])),
    ...Object.fromEntries(Object.entries(way.headers ?? {}).map(([name, text]) => [name, fill(text)])),
    ...(way.basic && { authorization: `Basic ${Buffer.from(`${fill(user)}:${fill(password)}`).toString("base64")}` }),
  };
  const base = way.base ?? (verify.base.includes("://") ? verify.base : String(values[verify.base]));
  return { method: verify.method, url: under(base, way.path ?? verify.path), headers, body, tls: toTls(way, values) };
}

/** A path below an address, which may have a path of its own. */
function under(base: string, path: string) {
  const url = new URL(base);
  const [pathname = "", query = ""] = path.split("?");
  url.pathname = withoutEnd(url.pathname, "/") + pathname;
  url.search = query;
  return url;
}

function toTls(way: Way, { caBundlePem, clientCertificatePem, clientKeyPem }: Values): Tls {
  return {
    ...(caBundlePem !== undefined && { ca: String(caBundlePem) }),
    ...(way.clientCertificate && { cert: String(clientCertificatePem), key: String(clientKeyPem) }),
  };
}

/** A step-ca gives its root to anybody; the fingerprint says whether it is the right one. */
async function fetchPinnedRoot({ url, headers }: Call, fingerprint: unknown, limits: Limits): Promise<Tls> {
  if (typeof fingerprint !== "string" || url.protocol !== "https:") return {};
  const wanted = fingerprint.toLowerCase().replaceAll(":", "");
  const root = new URL(`/root/${encodeURIComponent(wanted)}`, url);
  const reply = await send({ method: "GET", url: root, headers, tls: { rejectUnauthorized: false } }, limits);
  const ca = String(readPath(reply.body, "ca"));
  if (fingerprintOf(ca) !== wanted) throw failure("CERT_UNTRUSTED");
  return { ca };
}

function fingerprintOf(pem: string) {
  try {
    return new X509Certificate(pem).fingerprint256.toLowerCase().replaceAll(":", "");
  } catch {
    return;
  }
}

const SUCCESS = /^HTTP (\d{3})(?: with ([\w.]+)(?: (.+))?)?$/;

/** What an answer lacks of the catalogue's "HTTP 200 with status ok"; undefined when it lacks nothing. */
export function findFault({ success }: Pick<Verify, "success">, { status, body }: Pick<Reply, "status" | "body">) {
  const [, wanted, path, value] = SUCCESS.exec(success) ?? [];
  if (wanted === undefined) throw new Error(`The catalogue's success is not in a form that can be checked: ${success}`);
  if (status !== Number(wanted)) return describeStatus(status, wanted);
  if (path === undefined) return;
  const found = readPath(body, path);
  const isThere = value === undefined || value === "not null" ? found !== undefined && found !== null : String(found) === value;
  return isThere ? undefined : `It answered ${status}, but without ${[path, value].filter(Boolean).join(" ")}.`;
}

function describeStatus(status: number, wanted: string) {
  if (status === 401 || status === 403) return `It answered ${status}: it does not accept the credentials.`;
  if (status >= 300 && status < 400) return `It answered ${status}, a redirect, which the check does not follow.`;
  return `It answered ${status}, not ${wanted}.`;
}

function readPath(body: string, path: string): unknown {
  try {
    return path.split(".").reduce((value, name) => value?.[name], JSON.parse(body));
  } catch {
    return;
  }
}
