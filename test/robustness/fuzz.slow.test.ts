import { beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isWriting, nameOf, type Operation, operations } from "../support/openapi/document";
import { call } from "../support/server/call";
import { newUser } from "../support/server/people";
import { type PopulatedOrganization, populatedOrganization, withQueue } from "../support/server/populated-organization";
import { world } from "../support/server/world";
import { type Attempt, attemptsAt } from "./attempts";
import { EXAMPLES, UNIQUE } from "./examples";
import { findLeak } from "./leaks";

/** More with CERTITUDE_FUZZ_RUNS; a failure names its seed and path. */
const numRuns = Number(Bun.env.CERTITUDE_FUZZ_RUNS ?? 30);
const seed = 20_260_101;

withQueue();

/** Of somebody who has nothing yet, where an operation is about the caller alone: signing out, for one. */
async function credentialsFor(
  operation: Operation,
  everything: PopulatedOrganization,
  withToken: boolean,
  sent: { path: string; raw: string | undefined },
): Promise<Record<string, string>> {
  const isOwn = !operation.path.includes("{organizationId}") && operation.security.length === 1 && operation.security[0]?.join() === "userToken";
  return isOwn ? { authorization: `Bearer ${(await newUser()).token}` } : everything.credentials(operation, withToken, sent);
}

async function send(operation: Operation, everything: PopulatedOrganization, { path, query, headers, type, raw, withToken }: Attempt) {
  const target = query === "" ? path : `${path}?${query}`;
  const sent = raw?.replaceAll(UNIQUE, crypto.randomUUID());
  const credentials = await credentialsFor(operation, everything, withToken, { path: target, raw: sent });
  const all = { ...(raw !== undefined && { "content-type": type }), ...credentials, ...headers };
  if (operation.id === "streamNotifications") return hangUp(target, all);
  return call(operation.method, target, { headers: all, ...(sent !== undefined && { raw: sent }) });
}

/** A stream has no end to wait for. */
async function hangUp(path: string, headers: Record<string, string>) {
  const answer = await fetch(`${world.url}${path}`, { headers });
  await answer.body?.cancel();
  return { status: answer.status, body: {}, text: "" };
}

/** What was taken must be shown again, whatever is in it. */
async function readBack(operation: Operation, everything: PopulatedOrganization, { status, body }: { status: number; body: { id?: string } }) {
  if (["GET", "DELETE"].includes(operation.method) || status >= 300) return;
  const below = operation.path.endsWith("}") ? operation.path : `${operation.path}/{id}`;
  const pattern = new RegExp(`^${below.replace(/\{\w+\}/g, "\\{\\w+\\}")}(/\\w+)?$`);
  for (const reading of operations.filter((each) => each.method === "GET" && pattern.test(each.path))) {
    const newest = /\{(\w+)\}(\/\w+)?$/.exec(reading.path)?.[1] ?? "";
    const path = everything.pathOf(reading, body.id === undefined ? {} : { [newest]: body.id });
    const answer = await call("GET", path, { headers: everything.credentials(reading) });
    expect({ path, status: answer.status }).toEqual({ path, status: 200 });
  }
}

/** Shared by the operations that only read. */
let unchanged: PopulatedOrganization;
beforeAll(async () => {
  unchanged = await populatedOrganization();
});

describe.each(operations.map((operation) => [nameOf(operation), operation] as const))("%s", (_, operation) => {
  test("never fails, and refuses in words for people, whatever it is sent", async () => {
    const everything = isWriting(operation) ? await populatedOrganization() : unchanged;
    const property = fc.asyncProperty(attemptsAt(operation, everything, EXAMPLES[operation.id]), async (attempt) => {
      const answer = await send(operation, everything, attempt);
      const { status, body, text } = answer;
      expect(status).toBeLessThan(500);
      if (status >= 400 && text !== "" && text !== "{}") expect(findLeak(body.message)).toBeUndefined();
      await readBack(operation, everything, answer);
    });
    await fc.assert(property, { numRuns, seed, endOnFailure: numRuns > 1_000 });
  });
});

describe("GET /files/{key}, which only a signed link names", () => {
  test("never fails, and opens for no other link than the one that was signed", async () => {
    const everything = await populatedOrganization();
    const [download] = operations.filter((each) => each.id === "getDocumentDownload");
    const signed: string = download && (await everything.send(download)).body.url;
    const path = signed.slice(new URL(signed).origin.length);
    /** What a link says, however it is written. */
    const meaning = (link: string) => [new URL(link, signed).pathname, ...new URL(link, signed).searchParams].join("\n");
    expect((await call("GET", path)).status).toBe(200);
    const spoil = fc.tuple(
      fc.nat({ max: path.length - "/files/".length - 1 }),
      fc.constantFrom("", "x", "%00", "%ff", "&", "=", "..", "%2f", "Ä"),
      fc.nat({ max: 2 }),
    );
    const property = fc.asyncProperty(spoil, async ([at, text, taken]) => {
      const place = "/files/".length + at;
      const spoiled = path.slice(0, place) + text + path.slice(place + taken);
      if (meaning(spoiled) === meaning(path)) return;
      const { status, body } = await call("GET", spoiled);
      expect(status).toBeOneOf([400, 403, 404]);
      expect(findLeak(body.message)).toBeUndefined();
    });
    await fc.assert(property, { numRuns: 5 * numRuns, seed });
  });
});
