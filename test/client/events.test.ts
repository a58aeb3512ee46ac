import { expect, expectTypeOf, test } from "bun:test";
import { type ClientOptions, createClient, events, RefusedError, unwrap } from "../../src/client/index.js";
import { startGateway } from "../support/client/gateway";
import { newUser } from "../support/server/people";
import { world } from "../support/server/world";

const FROM_THE_FIRST = { headers: { "last-event-id": "0" } };

/** The stream of a user who has notices with these titles. */
async function streamWith(titles: string[], options: { url?: string; token?: (own: string) => string; fetch?: NonNullable<ClientOptions["fetch"]> } = {}) {
  const { token } = await newUser();
  const own = createClient({ url: world.url, token }).api.users.me.notifications;
  const add = (title: string) => unwrap(own.examples.post({ title }));
  for (const title of titles) await add(title);
  const { api } = createClient({ url: world.url, ...options, token: () => options.token?.(token) ?? token });
  return { add, stream: api.users.me.notifications.stream.get };
}

/** Their titles, up to the last one. */
async function titlesUntil(last: string, stream: AsyncIterable<object>) {
  const titles: unknown[] = [];
  for await (const each of stream) {
    if ("title" in each) titles.push(each.title);
    if (titles.at(-1) === last) return titles;
  }
}

/** The first events of what the server tells, up to the first notice; the client comes back at once. */
async function firstNotice(answer: Response) {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of answer.body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if (/^id: 1$/m.test(text) && text.endsWith("\n\n")) break;
  }
  return text.replace("retry: 2000", "retry: 1").replace(/^id: 2$.*/ms, "");
}

const asStream = (body: string) => new Response(body, { headers: { "content-type": "text/event-stream" } });

test("events yields what was missed and what comes, until the loop is left, which ends the request", async () => {
  const ended = Promise.withResolvers<void>();
  using gateway = startGateway((request, forward) => {
    request.signal.addEventListener("abort", () => ended.resolve());
    return forward();
  });
  const { stream, add } = await streamWith(["one", "two"], gateway);
  for await (const each of events(stream, FROM_THE_FIRST)) {
    expectTypeOf(each.unread).toEqualTypeOf<number>();
    if (!("kind" in each)) continue;
    expectTypeOf(each.example).toEqualTypeOf<boolean>();
    expect(each.kind).toBe("certificate_expiring");
    if (each.title === "two") await add("three");
    if (each.title === "three") break;
  }
  await ended.promise;
});

test("events goes on after the last one when the stream ends, when its connection is lost, and after a 503", async () => {
  const seen: (string | null)[] = [];
  using gateway = startGateway(async (request, forward) => {
    seen.push(request.headers.get("last-event-id"));
    if (seen.length === 1) return asStream(await firstNotice(await forward()));
    if (seen.length === 2) return Response.json({ message: "Away." }, { status: 503 });
    return forward();
  });
  let sent = 0;
  const cutOnce = (url: string, init: RequestInit) => (++sent === 2 ? Promise.reject(new TypeError("fetch failed")) : fetch(url, init));
  const { stream } = await streamWith(["one", "two"], { url: gateway.url, fetch: cutOnce });
  expect(await titlesUntil("two", events(stream, FROM_THE_FIRST))).toEqual(["one", "two"]);
  expect([seen, sent]).toEqual([["0", "1", "1"], 4]);
});

test("events throws a refusal, the first one or a later one", async () => {
  using gateway = startGateway(async (_, forward) => {
    const answer = await forward();
    return answer.ok ? asStream(await firstNotice(answer)) : answer;
  });
  const tokens = ["", "own"];
  const { stream } = await streamWith(["one"], { url: gateway.url, token: (own) => (tokens.pop() === "own" ? own : "none") });
  const listening = events(stream, FROM_THE_FIRST);
  expect((await listening.next()).value).toMatchObject({ title: "one" });
  expect(await listening.next().catch((error: unknown) => error)).toBeInstanceOf(RefusedError);
  await expect(events(stream).next()).rejects.toThrow("The token is missing or not valid.");
});

test("events throws the reason of a signal, and what fetch threw where the stream was never reached", async () => {
  const controller = new AbortController();
  const { stream } = await streamWith(["one"]);
  const listening = events(stream, { ...FROM_THE_FIRST, fetch: { signal: controller.signal } });
  await listening.next();
  const next = listening.next();
  controller.abort(new Error("enough"));
  await expect(next).rejects.toThrow("enough");
  const { stream: unreachable } = await streamWith([], { url: "http://127.0.0.1:1" });
  await expect(events(unreachable).next()).rejects.toThrow();
});

test("events takes streams alone", () => {
  const { api } = createClient({ url: world.url });
  expectTypeOf(events(api.users.me.notifications.stream.get)).toBeObject();
  // @ts-expect-error it answers once
  events(api.users.me.get);
});
