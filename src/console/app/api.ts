import { createSender } from "#client/send";
import { membership, type Role, session, signedInAgain } from "./auth/session";
import { ApiError } from "./errors";
import type { Address, AddressBelow, AddressOf, AnswerOf, BodyOf, Method, OrganizationAddress, QueryOf, Readable, Writable } from "./operations";
import { resolveConflict } from "./parts/conflict";
import { place } from "./router";
import { noteServerTime } from "./server-time";

const SENTENCES: Record<number, string> = {
  401: "You are not signed in, or your session has ended.",
  403: "You may not do this.",
  409: "This was changed meanwhile. Load it again.",
  412: "This was changed meanwhile. Load it again.",
};

const join = (parts: readonly string[]) => parts.map(encodeURIComponent).join("/");

/** Returns a path of the API: `address("users", "me")`. */
export const address = <const Parts extends readonly string[]>(...parts: Parts) => join(parts) as AddressOf<Parts>;

/** Returns the path of something of the organization that is shown: `inOrganization("certificates", id)`. */
export const inOrganization = <const Parts extends readonly string[]>(...parts: Parts) =>
  join(["organizations", place.value.organizationId ?? "", ...parts]) as OrganizationAddress<Parts>;

/** Returns a path below another: `below(path, "revoke")`. */
export const below = <There, const Parts extends readonly string[]>(path: Address<There>, ...parts: Parts) =>
  `${path}/${join(parts)}` as AddressBelow<There, Parts>;

/** A token and role of their own are for signing in. */
type Caller = { token?: string; role?: Role };

export const read = <There extends Readable>(path: Address<There>, query?: QueryOf<There["get"]>, caller?: Caller) =>
  send("GET", path, { query, ...caller }) as Promise<AnswerOf<There["get"]>>;

type Versioned = { get: { body: unknown; query: unknown; response: { 200: { version: number } } } };
type Write<Of> = {
  body?: BodyOf<Of>;
  query?: QueryOf<Of>;
  /** The version that the change is made on, sent as If-Match. */
  version?: number;
  /** The address of the resource itself, if the write goes to an action below it ("…/revoke"), or how it is found. */
  resource?: Address<Versioned> | (() => Promise<{ version: number }>);
};

/**
 * Writes with `If-Match`. If another caller changed the thing meanwhile, a dialog shows both versions: the write is
 * done again on the new version, or given up with an error of status 412.
 */
export async function write<Of extends Method, There extends Writable<Of>>(
  method: Of,
  path: Address<There>,
  change: Write<There[Lowercase<Of>]> = {},
): Promise<AnswerOf<There[Lowercase<Of>]>> {
  const { body, query, version, resource } = change;
  try {
    return (await send(method, path, { body, query, version })) as AnswerOf<There[Lowercase<Of>]>;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 412 || version === undefined) throw error;
    const theirs = await (typeof resource === "function" ? resource() : read((resource ?? path) as Address<Versioned>));
    if (!(await resolveConflict(body, theirs))) throw error;
    return write(method, path, { ...change, version: theirs.version });
  }
}

type Query = Record<string, string | number | boolean | undefined>;
type Call = Caller & { body?: unknown; query?: Query | undefined; version?: number | undefined };

const sendAgain = createSender({
  retries: 3,
  longestWait: 30,
  idempotencyKeys: true,
  async fetch(url, init) {
    const answer = await fetch(url, init).catch(() => {
      throw new ApiError(0, "The server cannot be reached. Look at your connection, then try again.");
    });
    noteServerTime(answer.headers.get("date"));
    return answer;
  },
});

/** Calls the API. After a 401 it waits until the person has signed in again; 429 and 503 are tried again after `Retry-After`. */
export async function send(method: Method | "GET", path: string, call: Call = {}): Promise<unknown> {
  const { body, query = {}, version, token, role } = call;
  const used = token ?? session.value?.token;
  const isForm = body instanceof FormData;
  const headers = {
    ...headersOf(path, token, role),
    ...(body !== undefined && !isForm && { "content-type": "application/json" }),
    ...(version !== undefined && { "if-match": `"${version}"` }),
  };
  const request = { method, headers, ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }) };
  const answer = await sendAgain(`../${path}${searchOf(query)}`, request);
  if (answer.ok) return answer.status === 204 ? undefined : answer.json();
  if (answer.status === 401 && token === undefined && used !== undefined) {
    await signedInAgain(used);
    return send(method, path, call);
  }
  const message = (await readMessage(answer)) || (SENTENCES[answer.status] ?? `The server answered ${answer.status}.`);
  throw new ApiError(answer.status, message);
}

export function headersOf(path: string, token = session.value?.token, role: Role = membership.value?.role ?? "ORG_MEMBER"): Record<string, string> {
  const userId = session.value?.person.id;
  const organizationId = /^organizations\/([^/?]+)/.exec(path)?.[1];
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(path.startsWith("admin/") && userId && { "x-user-id": userId }),
    ...(organizationId !== undefined && { "x-organization-id": decodeURIComponent(organizationId), "x-organization-role": role }),
  };
}

function searchOf(query: Query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

async function readMessage(answer: Response): Promise<string> {
  if (!answer.headers.get("content-type")?.startsWith("application/json")) return "";
  const { message = "" } = await answer.json();
  return message;
}
