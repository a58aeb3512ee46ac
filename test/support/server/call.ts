import { checkContract } from "../openapi/contract";
import { world } from "./world";

export type Wish = {
  body?: unknown;
  raw?: string | Uint8Array<ArrayBuffer> | ReadableStream;
  headers?: Record<string, string>;
  token?: string | undefined;
  url?: string;
};

/** A request over real HTTP. Its answer must be as the published document says, or the call throws. */
export async function call(method: string, path: string, { body, raw, headers = {}, token, url = world.url }: Wish = {}) {
  const answer = await fetch(`${url}${path}`, {
    method,
    redirect: "manual",
    headers: {
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(raw !== undefined ? { body: raw } : body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const type = answer.headers.get("content-type")?.split(";")[0];
  const isJson = type === "application/json";
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the server said
  const json: any = isJson && text !== "" ? JSON.parse(text) : text;
  if (answer.status === 401 && !answer.headers.get("www-authenticate")?.startsWith("Bearer"))
    throw new Error(`${method} ${path} answered 401 without a challenge`);
  checkContract(method, path.split("?")[0] ?? path, { status: answer.status, type, body: json });
  return { status: answer.status, headers: answer.headers, body: json, text };
}
