import { describe, expect, test } from "bun:test";
import { createPlaces } from "#jobs/places";
import type { Room } from "#modules/platform/jobs/rules";

const SHARES = { total: 4, ofOrganization: 2, ofTarget: 1 };
const never = new AbortController().signal;

/** What is due, as `organization target` in order, as a table of the database would have it; each goes on until it is ended. */
function withDue(...due: string[]) {
  const begun: string[] = [];
  const endings = new Map<string, () => void>();
  async function take({ fullOrganizations, fullTargets, of }: Room) {
    const found = due.find((each) => {
      const [organization = "", target = ""] = each.split(" ");
      return !fullOrganizations.includes(organization) && !fullTargets.includes(target);
    });
    if (found === undefined) return;
    const [organizationId = "", targetId = ""] = found.split(" ");
    if (of({ organizationId, targetId }) < 1) throw new Error("who has room is said to have no place");
    due.splice(due.indexOf(found), 1);
    const run = () => {
      begun.push(found);
      return new Promise<void>((resolve) => endings.set(found, resolve));
    };
    return [{ organizationId, targetId, run }];
  }
  return { take, begun, add: (...more: string[]) => void due.push(...more), end: (each: string) => endings.get(each)?.() };
}

/** Lets a turn go as far as it can without time. */
const settle = async () => {
  for (let step = 0; step < 50; step++) await Promise.resolve();
};

describe("the places of a job that calls others", () => {
  test("are taken by shares: of an organization, of a target, and in all", async () => {
    const { take, begun, end } = withDue("a 1", "a 1", "a 2", "a 3", "b 4", "c 5", "d 6");
    const places = createPlaces(SHARES);
    const turn = places.fill(take, never);
    await settle();
    expect(begun).toEqual(["a 1", "a 2", "b 4", "c 5"]);
    end("c 5");
    await settle();
    expect(begun.slice(4)).toEqual(["d 6"]);
    end("a 2");
    await settle();
    expect(begun.slice(5)).toEqual(["a 3"]); // target 1 is at work
    for (const each of ["a 1", "a 3", "b 4", "d 6"]) end(each);
    await settle();
    expect(begun.slice(6)).toEqual(["a 1"]);
    end("a 1");
    await turn;
  });

  test("are kept by what goes on after a turn; the next turn fills the others", async () => {
    const { take, begun, add, end } = withDue("a 1", "a 2", "a 3");
    const places = createPlaces(SHARES);
    const stopping = new AbortController();
    const turn = places.fill(take, stopping.signal);
    await settle();
    stopping.abort();
    end("a 2");
    await turn;
    expect(begun).toEqual(["a 1", "a 2"]);
    add("b 4");
    const next = places.fill(take, never);
    await settle();
    expect(begun.slice(2)).toEqual(["a 3", "b 4"]);
    for (const each of ["a 1", "a 3", "b 4"]) end(each);
    await next;
    await places.empty();
  });
});
