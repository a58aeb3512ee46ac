export type Row = Record<string, unknown>;
export type Query = (text: string, values: unknown[]) => Promise<Row[]>;
export type Database = { query: Query; transaction: (work: (query: Query) => Promise<Row[]>) => Promise<Row[]> };
export type Incoming = { params: Record<string, string>; search: Record<string, string>; userId: string; body: Row };
export type Route = { method: "GET" | "POST" | "PATCH"; path: string; status: number; answer: (db: Database, request: Incoming) => unknown };
/** What a peer is started with; `catalogue` is the answer of operation 5. */
export type Task = { port: number; url: string; catalogue: string };

export const iso = (time: unknown) => (time instanceof Date ? time.toISOString() : null);

/** The user that a token names; its signature is not checked. */
export function userOf(authorization = "") {
  const [, payload] = authorization.split(".");
  return payload ? String(JSON.parse(Buffer.from(payload, "base64url").toString()).sub) : "";
}
