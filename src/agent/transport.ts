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

export type Sent = { method: string; path: string; headers?: Record<string, string>; body?: string };
export type Send = (request: Sent) => Promise<Response>;

/** How the server is spoken to at this moment. */
export type Connection = {
  /** The agent's long-lived token, where it has one. */
  token?: string;
  /** The authorities that may have signed the server's certificate, and the certificate that the agent presents, as PEM. */
  tls: { ca?: string; cert?: string; key?: string };
  /** Whether the authorities are those of the agent's own file alone. */
  hasOwnAuthority: boolean;
};
type Options = { server: string; connection: () => Connection; environment: Record<string, string | undefined>; signal: AbortSignal };

/** Returns what sends a request to the server; it throws Unreachable where there is no answer. */
export const createTransport =
  ({ server, connection, environment, signal }: Options): Send =>
  async ({ path, ...init }) => {
    const { tls, hasOwnAuthority } = connection();
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]);
    try {
      return await fetch(`${server}${path}`, { ...init, signal: deadline, redirect: "error", tls });
    } catch (error) {
      if (signal.aborted) throw new Unreachable(`${server} had not answered yet when the agent was asked to stop.`);
      throw new Unreachable(`${server} cannot be reached: ${describeFault(error as Error, { server, environment, hasOwnAuthority })}`);
    }
  };
