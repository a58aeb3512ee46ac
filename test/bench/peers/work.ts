export type DatabaseRow = Record<string, unknown>;
export type Query = (text: string, values: unknown[]) => Promise<DatabaseRow[]>;
export type Incoming = { params: Record<string, string>; search: Record<string, string>; userId: string; body: DatabaseRow };
export type Route = { method: "GET" | "POST" | "PATCH"; path: string; status: number; answer: (query: Query, request: Incoming) => unknown };
/** The argument of a peer: the name of its sessions, the schema of its tables, and the answer of operation 5. */
export type Task = { port: number; url: string; name: string; schema: string; catalogue: string };

export const iso = (time: unknown) => (time instanceof Date ? time.toISOString() : null);

/** The user that a token names; its signature is not checked. */
export function userOf(authorization = "") {
  const [, payload] = authorization.split(".");
  return payload ? String(JSON.parse(Buffer.from(payload, "base64url").toString()).sub) : "";
}
