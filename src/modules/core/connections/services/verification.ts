import { X509Certificate } from "node:crypto";
import type { Values } from "#catalogue/fields";
import { WAYS, type Way } from "#modules/core/connectors/rules/auth-methods";
import { connectorOf, type Kind, type Verify } from "#modules/core/connectors/rules/kinds";
import type { Reach } from "#modules/core/connectors/services/http";
import type { Call, Reply, Tls } from "#outbound/call";
import { codeOf, failure } from "#outbound/failure";
import type { Limits } from "#outbound/http-client";
import { ACCEPTED, ANSWERED, type Outcome } from "../rules/outcome";
import { assert } from "./assertions";
import { sign, toCall, toLogin } from "./request";

type CallSettings = { limits: Limits; now: Date; reach: Reach };
type Planned = { verify: Verify; way: Way };
const failed = (message: string) => ({ outcome: "failed" as const, message });

/** Does what the catalogue says of checking a connection of this kind: a request, after a login where that comes first. */
export async function verifyByRequest(kind: Kind, given: Values, { limits, now, reach }: CallSettings): Promise<Outcome> {
  const planned = plan(kind, given);
  if ("message" in planned) return { outcome: "unsupported", message: planned.message };
  const { verify, way } = planned;
  const values = { ...given };
  if (way.assertion) {
    const assertion = assert(way.assertion, values, now);
    if ("fault" in assertion) return failed(assertion.fault);
    values.assertion = await assertion;
  }
  if (way.login) {
    const { login } = way;
    const call = unlessNoAddress(() => toLogin(login, verify, way, values));
    if (!call) return failed(NO_ADDRESS);
    const reply = await reach(call, limits);
    const token = readPath(reply.body, login.token);
    if (reply.status !== 200 || typeof token !== "string") return failed(describeLogin(reply.status));
    values.accessToken = token;
  }
  const call = callOf(planned, values);
  if (!call) return failed(NO_ADDRESS);
  const ca = await fetchPinnedRoot(call, values.rootFingerprint, reach, limits);
  const asked = { ...call, tls: { ...call.tls, ...ca } };
  const fault = findFault(verify, await reach(way.signedFor === undefined ? asked : await sign(asked, way.signedFor, values, now), limits));
  return fault === undefined ? { outcome: "ok", message: verify.checksCredentials ? ACCEPTED : ANSWERED } : failed(fault);
}

/** The request that the catalogue and the way make of these values; undefined where they make no address. */
export const callOf = ({ verify, way }: Planned, values: Values) => unlessNoAddress(() => toCall(verify, way, values));

const NO_ADDRESS = "Its fields make no address that can be asked.";

function unlessNoAddress(make: () => Call): Call | undefined {
  try {
    return make();
  } catch (error) {
    if (codeOf(error) === "ERR_INVALID_URL") return;
    throw error;
  }
}

/** How a connection is checked, or why it is not. */
export function plan(kind: Kind, values: Values): Planned | { message: string } {
  const { verify, displayName } = connectorOf(kind);
  const ways = WAYS[kind];
  if (!verify || !ways) throw new Error(`There is no request that checks a connection of the kind ${kind}.`);
  const way = ways.find(({ when = {} }) => Object.entries(when).every(([name, value]) => values[name] === value));
  if (!way) return { message: `There is a check of ${displayName} only with ${ways.map(({ when = {} }) => describe(when)).join(" or ")}.` };
  const inTheWay = way.without?.find((name) => values[name] !== undefined);
  if (inTheWay) return { message: `There is no check of ${displayName} with ${inTheWay}.` };
  const missing = needs(way).find((name) => values[name] === undefined);
  return missing ? { message: `The check needs ${missing}, which this connection does not have.` } : { verify, way };
}

const describe = (when: Record<string, unknown>) =>
  Object.entries(when)
    .map(([name, value]) => `${name} ${value}`)
    .join(" and ");

const MADE = ["accessToken", "assertion"];
const KEYS = { github: ["appId", "appPrivateKeyPem"], google: ["serviceAccountKeyJson"] };

function needs({ headers = {}, basic = ["", ""], clientCertificate, signedFor, assertion }: Way) {
  const texts = [...Object.values(headers), ...basic].join(" ");
  const named = [...texts.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name).filter((name) => !MADE.includes(name));
  return [
    ...named,
    ...(clientCertificate ? ["clientCertificatePem", "clientKeyPem"] : []),
    ...(signedFor ? ["accessKeyId", "secretAccessKey"] : []),
    ...(assertion ? KEYS[assertion] : []),
  ];
}

/** A step-ca gives its root to anybody; the fingerprint says whether it is the right one. */
async function fetchPinnedRoot({ url, headers }: Call, fingerprint: unknown, reach: Reach, limits: Limits): Promise<Tls> {
  if (typeof fingerprint !== "string" || url.protocol !== "https:") return {};
  const wanted = fingerprint.toLowerCase().replaceAll(":", "");
  const root = new URL(`/root/${encodeURIComponent(wanted)}`, url);
  const reply = await reach({ method: "GET", url: root, headers, tls: { rejectUnauthorized: false } }, limits);
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

/** Returns what an answer lacks of the catalogue's condition, such as "HTTP 200 with status ok"; undefined when it meets it. */
export function findFault({ success }: Pick<Verify, "success">, { status, body }: Pick<Reply, "status" | "body">) {
  const [, wanted, path, value] = SUCCESS.exec(success) ?? [];
  if (wanted === undefined) throw new Error(`The catalogue's success is not in a form that can be checked: ${success}`);
  if (status !== Number(wanted)) return describeStatus(status, wanted);
  if (path === undefined) return;
  const found = readPath(body, path);
  const isThere = value === undefined || value === "not null" ? found !== undefined && found !== null : String(found) === value;
  return isThere ? undefined : `It answered ${status}, but without ${[path, value].filter(Boolean).join(" ")}.`;
}

const describeLogin = (status: number) =>
  status === 200 ? "It answered the login with 200, but without a token." : `The login failed. ${describeStatus(status, "200")}`;

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
