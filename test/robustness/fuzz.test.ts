import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { call } from "../support/call";
import { nameOf, type Operation, operations } from "../support/document";
import { type Everything, newEverything, withQueue } from "../support/everything";
import { newUser } from "../support/people";
import { world } from "../support/world";
import { type Attempt, attemptsAt } from "./attempts";
import { findLeak } from "./leaks";

/** More with CERTITUDE_FUZZ_RUNS; a failure names its seed and path. */
const numRuns = Number(Bun.env.CERTITUDE_FUZZ_RUNS ?? 60);
const seed = 20_260_101;

withQueue();

/** Of somebody who has nothing yet, where an operation is about the caller alone: signing out, for one. */
async function credentialsFor(operation: Operation, everything: Everything, withToken: boolean): Promise<Record<string, string>> {
  const isOwn = !operation.path.includes("{organizationId}") && operation.security.length === 1 && operation.security[0]?.join() === "userToken";
  return isOwn ? { authorization: `Bearer ${(await newUser()).token}` } : everything.credentials(operation, withToken);
}

async function send(operation: Operation, everything: Everything, { path, query, headers, raw, withToken }: Attempt) {
  const type = raw !== undefined && { "content-type": "application/json" };
  const all = { ...type, ...(await credentialsFor(operation, everything, withToken)), ...headers };
  const target = query === "" ? path : `${path}?${query}`;
  if (operation.id === "streamNotifications") return hangUp(target, all);
  return call(operation.method, target, { headers: all, ...(raw !== undefined && { raw }) });
}

/** A stream has no end to wait for. */
async function hangUp(path: string, headers: Record<string, string>) {
  const answer = await fetch(`${world.url}${path}`, { headers });
  await answer.body?.cancel();
  return { status: answer.status, body: {}, text: "" };
}

describe.each(operations.map((operation) => [nameOf(operation), operation] as const))("%s", (_, operation) => {
  test("never fails, and refuses in words for people, whatever it is sent", async () => {
    const everything = await newEverything();
    const property = fc.asyncProperty(attemptsAt(operation, everything), async (attempt) => {
      const { status, body, text } = await send(operation, everything, attempt);
      expect(status).toBeLessThan(500);
      if (status < 400 || text === "" || text === "{}") return;
      expect(findLeak(body.message)).toBeUndefined();
    });
    await fc.assert(property, { numRuns, seed, endOnFailure: numRuns > 1_000 });
  });
});
