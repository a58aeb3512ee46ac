import { describeFault } from "./connection-fault";

/** The server refused or could not be asked; `retryAfter` in milliseconds, where it said so. */
export class Unreachable extends Error {
  constructor(
    message: string,
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** The server, or what stands in its place, answered what this host does not trust. */
export class Untrusted extends Unreachable {}

const TIMEOUT = 30_000;
const MIB = 1024 * 1024;
/** Of an answer: a thousand assignments take 1 to 10 MiB. */
const MAX_ANSWER = 8 * MIB;
/** Of a desired state that may grow by itself. */
const MAX_GROWN = 32 * MIB;

export type Sent = {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /**
   * The size of the last such answer, in bytes: a host may have grown, so that up to twice as much is read unless it has set a
   * limit of its own.
   */
  lastSize?: number;
};
/** Sends a request. The answer has been read whole, within its limit. */
export type Send = (request: Sent) => Promise<Response>;

/** How the server is spoken to at this moment. */
export type Connection = {
  /** The agent's long-lived token, where it has one. */
  token?: string;
  /** The authorities that may have signed the server's certificate, and the certificate that the agent presents, as PEM. */
  tls: { ca?: string; cert?: string; key?: string };
  /** True when only the authorities of the agent's own file count. */
  hasOwnAuthority: boolean;
};
type Options = {
  server: string;
  connection: () => Connection;
  environment: Record<string, string | undefined>;
  signal: AbortSignal;
  /** Bytes of an answer that are read at most, where this host says so. */
  maxAnswer?: number | undefined;
};

/** Returns what sends a request to the server; it throws Unreachable where there is no answer, or one that is too large. */
export const createTransport =
  ({ server, connection, environment, signal, maxAnswer }: Options): Send =>
  async ({ path, lastSize = 0, ...init }) => {
    const { tls, hasOwnAuthority } = connection();
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]);
    const limit = maxAnswer ?? Math.max(MAX_ANSWER, Math.min(2 * lastSize, MAX_GROWN));
    const headers = { ...init.headers, "accept-encoding": "identity" };
    try {
      // Bun would unpack a small answer to gigabytes before the first byte can be counted.
      const response = await fetch(`${server}${path}`, { ...init, headers, signal: deadline, redirect: "error", tls, decompress: false });
      return await readWhole(response, `${server}${path}`, limit);
    } catch (error) {
      if (error instanceof Unreachable) throw error;
      if (signal.aborted) throw new Unreachable(`${server} had not answered yet when the agent was asked to stop.`);
      throw new Unreachable(`${server} cannot be reached: ${describeFault(error as Error, { server, environment, hasOwnAuthority })}`);
    }
  };

/** Returns the answer with all of its body; one that is compressed, or larger than the limit, is Unreachable. */
async function readWhole({ status, headers, body }: Response, where: string, limit: number) {
  if ((headers.get("content-encoding") ?? "identity") !== "identity")
    throw new Unreachable(`${where} answered compressed, which the agent does not ask for. Does a proxy in between compress?`);
  const sink = new Bun.ArrayBufferSink();
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > limit) throw new Unreachable(tooLarge(where, limit));
    sink.write(chunk);
  }
  return new Response(size > 0 ? sink.end() : null, { status, headers });
}

function tooLarge(where: string, limit: number) {
  const mib = Math.floor(limit / MIB);
  return `${where} answered with over ${mib} MiB. If this host has that many assignments, raise the limit: --max-answer ${2 * mib}MiB`;
}
