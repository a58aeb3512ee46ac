import type { Handle } from "#deps";

export type Json = Record<string, unknown>;
export type Resource = Json & { id: string };
export type Caller = { organizationId: string; userId: string; token: string };
export type Client = ReturnType<typeof createClient>;

/** Calls the application inside this process, as any client would: no request of the demo reaches the network or the log. */
export function createClient(handle: Handle, base: string, { organizationId, userId, token }: Caller, signal: AbortSignal) {
  const own = {
    authorization: `Bearer ${token}`,
    "x-user-id": userId,
    "x-organization-id": organizationId,
    "x-organization-role": "ORG_ADMIN",
  };

  /** `path` is the organization's own unless it begins with a slash. */
  async function call<Answer = Json>(method: string, path: string, body?: Json | FormData, headers: Record<string, string> = {}): Promise<Answer> {
    signal.throwIfAborted();
    const isForm = body instanceof FormData;
    const request = new Request(new URL(path, `${base}/organizations/${organizationId}/`).href, {
      method,
      headers: { ...own, ...(body && !isForm && { "content-type": "application/json" }), ...headers },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
    const answer = await handle(request);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`The demo could not ${method} ${path}: ${answer.status} ${text}`);
    return (text === "" ? {} : JSON.parse(text)) as Answer;
  }

  const list = async (path: string) => (await call<{ items: Resource[] }>("GET", path)).items;

  /** Posts each of `wanted`, unless the list has an item with the same `field`. */
  async function addMissing<Wanted extends Json>(
    path: string,
    field: string,
    wanted: Wanted[],
    { listedAt = path, toBody = (each: Wanted): Json | FormData => each } = {},
  ) {
    const known = new Set((await list(`${listedAt}${listedAt.includes("?") ? "&" : "?"}limit=100`)).map((item) => item[field]));
    for (const each of wanted) if (!known.has(each[field])) await call("POST", path, toBody(each));
  }

  return { call, list, addMissing };
}
