import { Value } from "@sinclair/typebox/value";
import { t } from "elysia";
import { Uuid } from "#http/schema";
import type { AgentReport, DesiredState as Schema } from "#modules/fleet/agent-protocol/schema";
import { describeFault } from "./connection-fault";

export type DesiredState = typeof Schema.static;
export type Desired = DesiredState["items"][number];
export type Report = AgentReport["reports"][number];
export type HostFacts = NonNullable<AgentReport["host"]>;
export type ServerClient = ReturnType<typeof createServerClient>;

/** How the server is spoken to at this moment. */
export type Connection = {
  token: string;
  /** The authorities that may have signed the server's certificate, and the certificate that the agent presents, as PEM. */
  tls: { ca?: string; cert?: string; key?: string };
  /** Whether the authorities are those of the agent's own file alone. */
  hasOwnAuthority: boolean;
};
type Options = { server: string; connection: () => Connection; environment: Record<string, string | undefined>; signal: AbortSignal };

// Each item is looked at on its own, so that one from a newer server spoils no other.
const Envelope = t.Object({ items: t.Array(t.Object({ id: Uuid })), keep: t.Array(Uuid) });
export const isDesiredState = (value: unknown): value is DesiredState => Value.Check(Envelope, value);

const TIMEOUT = 30_000;
const MAX_REPORTS = 1_000;
/** One report that is wrong, or of an unknown assignment, or too many: the whole delivery is refused, so it is halved until that one stands alone. */
const REFUSES_REPORTS = new Set([400, 404, 413]);

/** The server refused or could not be asked; `retryAfter` in milliseconds, where it said so. */
export class Unreachable extends Error {
  constructor(
    message: string,
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** The agent's two calls. Both throw Unreachable where the server does not answer as it should. */
export function createServerClient({ server, connection, environment, signal }: Options) {
  async function ask(path: string, init: RequestInit & { headers?: Record<string, string> }) {
    const { token, tls, hasOwnAuthority } = connection();
    const headers = { authorization: `Bearer ${token}`, ...init.headers };
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]);
    try {
      return await fetch(`${server}${path}`, { ...init, headers, signal: deadline, redirect: "error", tls });
    } catch (error) {
      throw new Unreachable(`${server} cannot be reached: ${describeFault(error as Error, { server, environment, hasOwnAuthority })}`);
    }
  }

  /** What is desired, or undefined where that is still what `etag` names. */
  async function fetchDesired(etag: string | undefined) {
    const answer = await ask("/agent/assignments", { headers: etag ? { "if-none-match": etag } : {} });
    if (answer.status === 304 && etag) return undefined;
    if (answer.status !== 200) throw refusal(answer);
    const state: unknown = await answer.json().catch(() => undefined);
    if (!isDesiredState(state)) throw new Unreachable(`${server} answered something else than a desired state. Is it a Certitude server?`);
    return { etag: answer.headers.get("etag") ?? "", state };
  }

  /** Whether the server has taken a report only as the release before wrote it. */
  let isOlder = false;

  /** Delivers reports, at most one per assignment, and answers those that the server does not take: of assignments that are gone. */
  async function deliver(given: Report[], host?: HostFacts): Promise<Report[]> {
    const reports = isOlder ? given.map(asBefore) : given;
    if (reports.length > MAX_REPORTS) return deliverHalves(reports, host);
    const body = JSON.stringify({ reports, ...(host && { host }) });
    const answer = await ask("/agent/reports", { method: "POST", headers: { "content-type": "application/json" }, body });
    if (answer.status === 204) return [];
    if (!REFUSES_REPORTS.has(answer.status) || reports.length === 0) throw refusal(answer);
    if (reports.length > 1) return deliverHalves(reports, host);
    return deliverAsBefore(given, host);
  }

  /** Delivers a report that was refused in the words of the release before, where those are others. */
  async function deliverAsBefore(refused: Report[], host?: HostFacts) {
    if (host) await deliver([], host);
    if (isOlder || Bun.deepEquals(refused.map(asBefore), refused)) return refused;
    isOlder = true;
    const unwanted = await deliver(refused);
    isOlder = unwanted.length === 0;
    return unwanted;
  }

  async function deliverHalves(reports: Report[], host?: HostFacts) {
    const half = Math.ceil(reports.length / 2);
    return [...(await deliver(reports.slice(0, half), host)), ...(await deliver(reports.slice(half)))];
  }

  return { fetchDesired, deliver };
}

/** A report as a server of the release before knows it. */
const asBefore = ({ state, ...rest }: Report): Report => ({ ...rest, state: state === "kept" ? "removed" : state === "refused" ? "failed" : state });

function refusal({ status, url, headers }: Response) {
  if (status === 401) return new Unreachable(`${url} does not accept the agent's token (401). Was the agent deleted? Enrol it again.`);
  const seconds = Number(headers.get("retry-after"));
  return new Unreachable(`${url} answered ${status}.`, Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined);
}
