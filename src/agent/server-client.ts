import { Value } from "@sinclair/typebox/value";
import { t } from "elysia";
import { Uuid } from "#http/schema";
import type { AgentReport, DesiredState as Schema } from "#modules/fleet/agent-protocol/schema";
import type { ChallengeReport, HostChallenge, KeyFault, KeyRequest } from "#modules/issuance/requests/schema/host-keys";
import type { Access } from "./identity/access";
import type { Trust } from "./identity/trust";
import { Unreachable, Untrusted } from "./transport";

type Sent = typeof Schema.static;
/** A server of a release before knows nothing of keys on the host or of challenges, or names nothing to remove. */
export type Desired = Omit<Sent["items"][number], "keyOnHost"> & { keyOnHost?: boolean };
export type DesiredState = { items: Desired[]; keep: string[]; remove?: Desired[]; keys?: KeyRequest[]; challenges?: HostChallenge[] };
export type Report = AgentReport["reports"][number];
export type HostFacts = NonNullable<AgentReport["host"]>;
export type ServerClient = ReturnType<typeof createServerClient>;

type Options = { server: string; access: Access; trust: Trust };

// Each item is read on its own, so that one from a newer server spoils no other.
const Envelope = t.Object({
  items: t.Array(t.Object({ id: Uuid })),
  keep: t.Array(Uuid),
  remove: t.Optional(t.Array(t.Object({ id: Uuid }))),
  keys: t.Optional(t.Array(t.Object({ requestId: Uuid, assignment: t.Object({ id: Uuid }) }))),
  challenges: t.Optional(t.Array(t.Object({ id: Uuid, requestId: Uuid }))),
});
const isDesiredState = (value: unknown): value is DesiredState => Value.Check(Envelope, value);

/** Returns the desired state that this is, if it is one. Its ids are in lower case, as the names of the records are. */
export function readDesiredState(value: unknown): DesiredState | undefined {
  if (!isDesiredState(value)) return undefined;
  const { items, keep, remove, keys, challenges } = value;
  return {
    ...value,
    items: items.map(withLowerId),
    keep: keep.map((id) => id.toLowerCase()),
    ...(remove && { remove: remove.map(withLowerId) }),
    ...(keys && { keys: keys.map((each) => ({ ...each, requestId: each.requestId.toLowerCase(), assignment: withLowerId(each.assignment) })) }),
    ...(challenges && { challenges: challenges.map((each) => ({ ...withLowerId(each), requestId: each.requestId.toLowerCase() })) }),
  };
}

const withLowerId = <Thing extends { id: string }>(thing: Thing): Thing => ({ ...thing, id: thing.id.toLowerCase() });

const MAX_REPORTS = 1_000;
/**
 * One report that is wrong, or of an unknown assignment, or too many: the whole delivery is refused, so it is halved until that
 * one stands alone.
 */
const REFUSES_REPORTS = new Set([400, 404, 413]);

/** The agent's calls. All throw Unreachable where the server does not answer as it should. */
export function createServerClient({ server, access, trust }: Options) {
  /** Returns the desired state, or undefined where it is still the one of `etag`. */
  async function fetchDesired(etag: string | undefined, lastSize = 0) {
    const path = "/agent/assignments";
    const { response, nonce } = await access.ask({ method: "GET", path, headers: etag ? { "if-none-match": etag } : {}, lastSize });
    if (response.status === 304 && etag) return confirmUnchanged(etag, response, nonce);
    if (response.status !== 200) throw refusal(path, response);
    const content = await response.text();
    const state = readDesiredState(parse(content));
    if (!state) throw new Unreachable(`${server} answered something else than a desired state. Is it a Certitude server?`);
    const tag = await trust.judge({ response, nonce, content });
    return { etag: tag === undefined ? (response.headers.get("etag") ?? "") : `"${tag}"`, state };
  }

  /** Throws Untrusted where what has not changed is not what `etag` names. */
  async function confirmUnchanged(etag: string, response: Response, nonce: string) {
    const tag = await trust.judge({ response, nonce, content: undefined });
    if (tag !== undefined && `"${tag}"` !== etag) throw new Untrusted("The server says that nothing has changed, but of another state than this host has.");
    return undefined;
  }

  /** True when the server has accepted a report only in the form of the release before. */
  let isOlder = false;

  /** Delivers reports, at most one per assignment, and answers those that the server does not take: of assignments that are gone. */
  async function deliver(given: Report[], host?: HostFacts): Promise<Report[]> {
    const path = "/agent/reports";
    const reports = isOlder ? given.map(asBefore) : given;
    if (reports.length > MAX_REPORTS) return deliverHalves(reports, host);
    const body = JSON.stringify({ reports, ...(host && { host }) });
    const { response: answer } = await access.ask({ method: "POST", path, headers: { "content-type": "application/json" }, body });
    if (answer.status === 204) return [];
    if (!REFUSES_REPORTS.has(answer.status) || reports.length === 0) throw refusal(path, answer);
    if (reports.length > 1) return deliverHalves(reports, host);
    return deliverAsBefore(given, answer.status, host);
  }

  /** Delivers a report that was refused in the words of the release before, where those are others. */
  async function deliverAsBefore(refused: Report[], status: number, host?: HostFacts) {
    if (host) await deliver([], host);
    if (isOlder || status !== 400 || Bun.deepEquals(refused.map(asBefore), refused)) return refused;
    isOlder = true;
    const unwanted = await deliver(refused);
    isOlder = unwanted.length === 0;
    return unwanted;
  }

  async function deliverHalves(reports: Report[], host?: HostFacts) {
    const half = Math.ceil(reports.length / 2);
    return [...(await deliver(reports.slice(0, half), host)), ...(await deliver(reports.slice(half)))];
  }

  /**
   * Sends a signing request. Returns why the server does not take it, in words; undefined where it does, or has withdrawn what
   * it asked.
   */
  async function sendCsr(requestId: string, csrPem: string) {
    const response = await post(`/agent/certificate-requests/${requestId}/csr`, { csrPem });
    if (response.status !== 400 && response.status !== 409) return undefined;
    const answer = parse(await response.text());
    const why = answer instanceof Object && "message" in answer ? String(answer.message) : "";
    return `The server does not take the signing request of this host's key (${response.status}). ${why}`.trim();
  }

  /** Reports why there is no key for a request. */
  const reportKeyFault = async (requestId: string, fault: typeof KeyFault.static) =>
    void (await post(`/agent/certificate-requests/${requestId}/faults`, fault));

  /** Reports which challenges of a request are shown, and why others are not. */
  const reportChallenges = async (requestId: string, challenges: ChallengeReport[]) =>
    void (await post(`/agent/certificate-requests/${requestId}/challenges`, { challenges }));

  /** Throws Unreachable unless the server takes it, finds fault with it, or knows nothing of it any more. */
  async function post(path: string, body: object) {
    const { response } = await access.ask({ method: "POST", path, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    if (![204, 400, 404, 409].includes(response.status)) throw refusal(path, response);
    return response;
  }

  function refusal(path: string, { status, headers }: Response) {
    const url = `${server}${path}`;
    if (status === 401) return new Unreachable(`${url} ${access.refused}`);
    const seconds = Number(headers.get("retry-after"));
    return new Unreachable(`${url} answered ${status}.`, Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined);
  }

  return { fetchDesired, deliver, sendCsr, reportKeyFault, reportChallenges };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A report as a server of the release before knows it. */
const asBefore = ({ state, observedAt: _, ...rest }: Report): Report => ({
  ...rest,
  state: state === "kept" ? "removed" : state === "refused" ? "failed" : state,
});
