import { beforeAll, describe, expect, test } from "bun:test";
import { controlsOf } from "#modules/governance/frameworks/rules/catalogue";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { change, control } from "./controls";

const PATH = "/ai-governance/frameworks/nist/controls";

let organization: TestOrganization;
let [ada, grace]: string[] = [];
const indexOf = new Map(controlsOf("nist").map(({ id }, index) => [id, index]));
/** The places in the framework's list of what is answered. */
const list = async (query: string) => {
  const { status, body } = await organization.member("GET", `${PATH}?${query}`);
  return [status, body.items.map(({ id }: { id: string }) => indexOf.get(id))];
};

beforeAll(async () => {
  organization = await newOrganization();
  [ada, grace] = [(await organization.join()).id, (await organization.join()).id];
  await change(organization, control("nist", 0).path, { status: "in_progress", ownerId: ada, dueDate: "2030-01-31" });
  await change(organization, control("nist", 1).path, { status: "implemented", note: "Done.", ownerId: ada, dueDate: "2030-02-01" });
  await change(organization, control("nist", 2).path, { status: "in_progress", ownerId: grace });
  await change(organization, control("nist", 3).path, { status: "not_started", dueDate: "2029-12-31" });
  await change(organization, control("iso", 0).path, { status: "in_progress", ownerId: ada, dueDate: "2030-01-31" });
});

describe("GET /organizations/{organizationId}/ai-governance/frameworks/{frameworkKey}/controls", () => {
  test.each([
    ["status=done", "query.status must be one of not_started, in_progress, implemented, not_applicable."],
    ["owner=ada", "query.owner must be the id of a user (a UUID) or none."],
    ["due=tomorrow", "query.due must be a day, such as 2030-01-31."],
    ["due=2030-02-30", "query.due must be a day, such as 2030-01-31."],
    ["due=2030-01-31T00:00:00Z", "query.due must be a day, such as 2030-01-31."],
    ["state=in_progress", "query.state is not a known field; did you mean status? Known here: status, owner, due."],
  ])("400 for ?%s", async (query, message) => {
    expect(await organization.member("GET", `${PATH}?${query}`)).toMatchObject({ status: 400, body: { message } });
  });

  test("200 only those in the status; one that was never touched is not_started", async () => {
    expect(await list("status=in_progress")).toEqual([200, [0, 2]]);
    expect(await list("status=implemented")).toEqual([200, [1]]);
    expect(await list("status=not_applicable")).toEqual([200, []]);
    expect(await list("status=not_started")).toEqual([200, [...indexOf.values()].filter((index) => index > 2)]);
  });

  test("200 only those of the owner, in either case, or of nobody", async () => {
    expect(await list(`owner=${ada}`)).toEqual([200, [0, 1]]);
    expect(await list(`owner=${grace?.toUpperCase()}`)).toEqual([200, [2]]);
    expect(await list(`owner=${crypto.randomUUID()}`)).toEqual([200, []]);
    expect(await list("owner=none")).toEqual([200, [...indexOf.values()].filter((index) => index > 2)]);
  });

  test("200 only those that are due on the day or before it, soonest or not in the framework's order", async () => {
    expect(await list("due=2029-12-30")).toEqual([200, []]);
    expect(await list("due=2029-12-31")).toEqual([200, [3]]);
    expect(await list("due=2030-01-31")).toEqual([200, [0, 3]]);
    expect(await list("due=2030-02-01")).toEqual([200, [0, 1, 3]]);
  });

  test("200 what all the filters leave", async () => {
    expect(await list(`status=in_progress&owner=${ada}&due=2030-12-31`)).toEqual([200, [0]]);
    expect(await list(`status=not_started&owner=none&due=2030-01-01`)).toEqual([200, [3]]);
    expect(await list(`status=implemented&owner=${grace}`)).toEqual([200, []]);
  });
});
