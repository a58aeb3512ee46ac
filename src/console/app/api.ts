import { resolveConflict } from "./parts/conflict";
import { place } from "./router";
import { noteServerTime } from "./server-time";
import { membership, type Role, session, signedInAgain } from "./session";

/** What the API refused, in its own sentence. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

type Query = Record<string, string | number | boolean | undefined>;
type Write = {
  body?: unknown;
  query?: Query;
  /** The version that the change is made on, sent as If-Match. */
  version?: number;
  /** Where the resource itself is read, if the write goes to an action below it ("…/revoke"), or how it is found. */
  resource?: string | (() => Promise<{ version: number }>);
};
type Method = "POST" | "PATCH" | "PUT" | "DELETE";

const ATTEMPTS = 4;
const SENTENCES: Record<number, string> = {
  401: "You are not signed in, or your session has ended.",
  403: "You may not do this.",
  409: "This was changed meanwhile. Load it again.",
  412: "This was changed meanwhile. Load it again.",
};

/** The path of something of the organization that is shown: `inOrganization("certificates", id)`. */
export const inOrganization = (...parts: string[]) => `organizations/${[place.value.organizationId ?? "", ...parts].map(encodeURIComponent).join("/")}`;

export async function read<T>(path: string, query: Query = {}): Promise<T> {
  return (await send("GET", path, { query })) as T;
}

/**
 * Writes with `If-Match`. Where somebody else changed the thing meanwhile, a dialog shows both versions: the write is
 * done again on the new version, or given up with an error of status 412.
 */
export async function write<T>(method: Method, path: string, { body, query, version, resource = path }: Write = {}): Promise<T> {
  try {
    return (await send(method, path, { body, query, version })) as T;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 412 || version === undefined) throw error;
    const theirs = typeof resource === "string" ? await read<{ version: number }>(resource) : await resource();
    if (!(await resolveConflict(body, theirs))) throw error;
    return write(method, path, { body, ...(query && { query }), version: theirs.version, resource });
  }
}

/** A token and role of their own are for signing in. */
type Sending = { body?: unknown; query?: Query | undefined; version?: number | undefined; token?: string; role?: Role };

/** Any call of the API. After a 401 it waits until the person has signed in again; 429 and 503 are tried again after `Retry-After`. */
export async function send(method: Method | "GET", path: string, sending: Sending = {}): Promise<unknown> {
  const { body, query = {}, version, token, role } = sending;
  const used = token ?? session.value?.token;
  const headers = headersOf(path, token, role);
  if (body !== undefined && !(body instanceof FormData)) headers.set("content-type", "application/json");
  if (version !== undefined) headers.set("if-match", `"${version}"`);
  if (method !== "GET") headers.set("idempotency-key", newKey());
  const request = { method, headers, ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }) };
  const answer = await fetchPatiently(`../${path}${searchOf(query)}`, request);
  if (answer.ok) return answer.status === 204 ? undefined : answer.json();
  if (answer.status === 401 && token === undefined && used !== undefined) {
    await signedInAgain(used);
    return send(method, path, sending);
  }
  const message = (await readMessage(answer)) || (SENTENCES[answer.status] ?? `The server answered ${answer.status}.`);
  throw new ApiError(answer.status, message);
}

export function headersOf(path: string, token = session.value?.token, role: Role = membership.value?.role ?? "ORG_MEMBER") {
  const headers = new Headers(token === undefined ? {} : { authorization: `Bearer ${token}` });
  const userId = session.value?.person.id;
  if (path.startsWith("admin/") && userId) headers.set("x-user-id", userId);
  const organizationId = /^organizations\/([^/?]+)/.exec(path)?.[1];
  if (organizationId === undefined) return headers;
  headers.set("x-organization-id", decodeURIComponent(organizationId));
  headers.set("x-organization-role", role);
  return headers;
}

export function searchOf(query: Query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** A retry carries the same key, so that it is done once. `crypto.randomUUID` is missing on plain http. */
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

async function fetchPatiently(address: string, request: RequestInit) {
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(address, request).catch(() => {
      throw new ApiError(0, "The server cannot be reached. Look at your connection, then try again.");
    });
    noteServerTime(answer.headers.get("date"));
    const seconds = Number(answer.headers.get("retry-after") ?? Number.NaN);
    const isBusy = answer.status === 429 || answer.status === 503;
    if (!isBusy || attempt === ATTEMPTS || !(seconds <= 30)) return answer;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
}

async function readMessage(answer: Response): Promise<string> {
  if (!answer.headers.get("content-type")?.startsWith("application/json")) return "";
  const { message = "" } = await answer.json();
  return message;
}
