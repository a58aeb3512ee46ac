import { type Treaty, treaty } from "@elysiajs/eden";
import type { App } from "./app.js";
import { createFetch } from "./fetch.js";

export type Role = "ORG_ADMIN" | "ORG_MEMBER";

export type ClientOptions = {
  /** The server's address, a path allowed: `https://certitude.example`. */
  url: string;
  /** A user token or an API token, or what returns one for each request. A trusted gateway needs none. */
  token?: string | (() => string | Promise<string>);
  /** The id of the organization to act in; `role` belongs to it. */
  organization?: string;
  /** In which role; the token must cover it. */
  role?: Role;
  /** The own user id of a platform admin, for `/admin/…`. */
  userId?: string;
  /** More headers, for every request. */
  headers?: Record<string, string>;
  /** How often a request that is limited (429) or came at a bad moment (503) is sent again; 4 unless said. */
  retries?: number;
  /** The longest `Retry-After`, in seconds, that is waited for; 60 unless said. Beyond it, the answer is the refusal. */
  longestWait?: number;
  /** True unless said: each write gets an Idempotency-Key, so that sending it again does it once. A caller has 10,000 keys a day. */
  idempotencyKeys?: boolean;
  /** Sends the requests instead of the global fetch. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
};

type InOrganization = { organization: string; role: Role };
type Api = Treaty.Create<App>;

/** `api` has every operation by its path; `organization` those of the client's own organization. */
export type Client<Options = InOrganization> = { api: Api } & (Options extends InOrganization ? { organization: ReturnType<Api["organizations"]> } : unknown);

/** A client of one server, in one organization at most. */
export function createClient<const Options extends ClientOptions>(options: Options & (Options extends { organization: string } ? InOrganization : unknown)) {
  const {
    url,
    token,
    organization,
    role,
    userId,
    headers,
    retries = 4,
    longestWait = 60,
    idempotencyKeys = true,
    fetch = globalThis.fetch,
  }: ClientOptions = options;
  const base = new URL(url).href.replace(/\/$/, "");
  const standing = {
    ...headers,
    ...(organization !== undefined && { "x-organization-id": organization }),
    ...(role !== undefined && { "x-organization-role": role }),
    ...(userId !== undefined && { "x-user-id": userId }),
  };
  const authorization = async () => {
    const shown = typeof token === "function" ? await token() : token;
    return shown === undefined ? standing : { ...standing, authorization: `Bearer ${shown}` };
  };
  const send = createFetch(base, { retries, longestWait, idempotencyKeys, fetch });
  const api = treaty<App>(base, { headers: authorization, fetcher: send as unknown as typeof globalThis.fetch, parseDate: false });
  return { api, ...(organization !== undefined && { organization: api.organizations({ organizationId: organization }) }) } as unknown as Client<Options>;
}
