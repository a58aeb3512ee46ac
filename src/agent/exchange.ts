import { Value } from "@sinclair/typebox/value";
import { type AgentReport, DesiredState as Schema } from "../modules/deployments/schema";

export type DesiredState = typeof Schema.static;
export type Desired = DesiredState["items"][number];
export type Report = AgentReport["reports"][number];
export type HostFacts = NonNullable<AgentReport["host"]>;
export type Exchange = ReturnType<typeof createExchange>;

type Options = { server: string; token: string; ca: string | undefined; signal: AbortSignal };

const TIMEOUT = 30_000;
const MAX_REPORTS = 1_000;

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
export function createExchange({ server, token, ca, signal }: Options) {
  async function ask(path: string, init: RequestInit & { headers?: Record<string, string> }) {
    const headers = { authorization: `Bearer ${token}`, ...init.headers };
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]);
    try {
      return await fetch(`${server}${path}`, { ...init, headers, signal: deadline, redirect: "error", ...(ca && { tls: { ca } }) });
    } catch (error) {
      throw new Unreachable(`${server} cannot be reached: ${(error as Error).message}`);
    }
  }

  /** What is desired, or undefined where that is still what `etag` names. */
  async function fetchDesired(etag: string | undefined) {
    const answer = await ask("/agent/assignments", { headers: etag ? { "if-none-match": etag } : {} });
    if (answer.status === 304) return undefined;
    if (answer.status !== 200) throw refusal(answer);
    const state: unknown = await answer.json().catch(() => undefined);
    if (!Value.Check(Schema, state)) throw new Unreachable(`${server} answered something else than a desired state. Is it a Certitude server?`);
    return { etag: answer.headers.get("etag") ?? "", state };
  }

  /** Delivers reports, at most one per assignment, and answers those that the server no longer wants: of assignments that are gone. */
  async function deliver(reports: Report[], host?: HostFacts): Promise<Report[]> {
    if (reports.length > MAX_REPORTS) return [...(await deliver(reports.slice(0, MAX_REPORTS), host)), ...(await deliver(reports.slice(MAX_REPORTS)))];
    const body = JSON.stringify({ reports, ...(host && { host }) });
    const answer = await ask("/agent/reports", { method: "POST", headers: { "content-type": "application/json" }, body });
    if (answer.status === 204) return [];
    // One unknown assignment refuses the whole delivery: halve it until the unknown one stands alone.
    if (answer.status === 404 && reports.length === 1) return reports;
    if (answer.status !== 404) throw refusal(answer);
    const half = Math.ceil(reports.length / 2);
    return [...(await deliver(reports.slice(0, half), host)), ...(await deliver(reports.slice(half)))];
  }

  return { fetchDesired, deliver };
}

function refusal({ status, url, headers }: Response) {
  if (status === 401) return new Unreachable(`${url} does not accept the agent's token (401). Was the agent deleted? Enrol it anew.`);
  const seconds = Number(headers.get("retry-after"));
  return new Unreachable(`${url} answered ${status}.`, Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined);
}
