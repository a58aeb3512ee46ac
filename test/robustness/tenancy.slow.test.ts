import { beforeAll, describe, expect, test } from "bun:test";
import { isWriting, nameOf, type Operation, operations } from "../support/openapi/document";
import { call } from "../support/server/call";
import { type PopulatedOrganization, populatedOrganization, withQueue } from "../support/server/populated-organization";
import { rowsOf } from "../support/server/rows";
import { EXAMPLES, UNIQUE } from "./examples";

withQueue();

/** What is called the same in every organization. */
const SHARED = ["organizationId", "frameworkKey", "controlId", "system", "metric"];
/** Fields of a body that name something of the organization. */
const NAMES = ["agentId", "assignmentId", "certificateId", "connectionId", "organizationId", "ownerId"];

const within = operations.filter((each) => each.path.includes("{organizationId}"));
const byName = (list: Operation[]) => list.map((operation) => [nameOf(operation), operation] as const);
const idsOf = ({ path }: Operation) => [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name = ""]) => (SHARED.includes(name) ? [] : name));
const own = (ids: Record<string, string>) => Object.fromEntries(Object.entries(ids).filter(([name]) => !SHARED.includes(name)));

/** Shared by the tests, none of which may change anything in them. */
let ours: PopulatedOrganization;
let theirs: PopulatedOrganization;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([populatedOrganization(), populatedOrganization()]);
});

/** Every choice of at least one of the names. */
const choices = (names: string[]) =>
  Array.from({ length: 2 ** names.length - 1 }, (_, choice) => names.filter((_, index) => Math.floor((choice + 1) / 2 ** index) % 2 === 1));
const unknown = (names: string[]) => Object.fromEntries(names.map((name) => [name, crypto.randomUUID()]));
const pick = (ids: Record<string, string>, names: string[]) => Object.fromEntries(names.map((name) => [name, ids[name] ?? ""]));

describe.each(byName(within.filter((each) => idsOf(each).length > 0)))("%s", (_, operation) => {
  test("404 for what another organization has, as for what nobody has, and nothing changes", async () => {
    const before = [await rowsOf(ours.organization.id), await rowsOf(theirs.organization.id)];
    for (const names of choices(idsOf(operation)))
      for (const headers of [{}, { "if-match": '"1"' }, { "if-match": '"9"', "if-none-match": "*" }]) {
        const theirThing = await ours.send(operation, { ids: pick(theirs.ids, names), headers });
        const noThing = await ours.send(operation, { ids: unknown(names), headers });
        expect({ names, status: theirThing.status, text: theirThing.text }).toEqual({ names, status: 404, text: noThing.text });
        expect(theirThing.headers.get("etag")).toBeNull();
      }
    expect([await rowsOf(ours.organization.id), await rowsOf(theirs.organization.id)]).toEqual(before);
  });
});

describe.each(byName(within.filter((each) => each.security[0]?.includes("organizationId"))))("%s", (_, operation) => {
  test("403 in another organization, by headers of one's own and by a token of one's own", async () => {
    const path = theirs.pathOf(operation);
    const before = await rowsOf(theirs.organization.id);
    const attempts = [
      ours.credentials(operation),
      ours.credentials(operation, true),
      { ...ours.credentials(operation, true), ...theirs.organization.headers("ORG_MEMBER") },
      { ...ours.credentials(operation, true), ...theirs.organization.headers("ORG_ADMIN") },
    ];
    for (const headers of attempts) expect((await call(operation.method, path, { headers })).status).toBe(403);
    expect(await rowsOf(theirs.organization.id)).toEqual(before);
  });
});

const examplesOf = ({ id, body }: Operation) => [body?.example, ...(EXAMPLES[id] ?? [])];

/** Bodies that name one thing of another organization, and how to name another thing in its place. */
function* foreignBodies(operation: Operation, ours: PopulatedOrganization, theirs: PopulatedOrganization) {
  for (const example of examplesOf(operation)) {
    const right = JSON.stringify(ours.adopt(example)).replaceAll(UNIQUE, "unique");
    for (const name of NAMES) {
      const [id = "", foreign = ""] = [ours.ids[name], theirs.ids[name]];
      if (right.includes(id)) yield { foreign, put: (other: string) => right.replaceAll(id, other) };
    }
  }
}

const namesThings = (operation: Operation) => NAMES.some((name) => JSON.stringify(examplesOf(operation)).includes(`"${name}`));
/** The platform's staff decides about any organization. */
const isStaffs = ({ path }: Operation) => path.startsWith("/admin/");
const withNames = operations.filter((each) => isWriting(each) && !isStaffs(each) && each.body?.type === "application/json" && namesThings(each));

test("these operations name things in their bodies", () => {
  const known = ["bulkUpdateLabels", "changeControlStatus", "createAssignment", "reportDeployments", "saveChunks", "updateAssignment", "updateCertificate"];
  expect(withNames.map((each) => each.id)).toEqual(expect.arrayContaining(known));
});

describe.each(byName(withNames))("%s", (_, operation) => {
  test("takes the ids of another organization in a body for ids of nobody", async () => {
    const ours = await populatedOrganization(); // who may well change something of its own
    const before = await rowsOf(theirs.organization.id);
    for (const { foreign, put } of foreignBodies(operation, ours, theirs)) {
      const nobody = crypto.randomUUID();
      const send = (raw: string) => ours.send(operation, { raw, headers: { "content-type": "application/json" } });
      const [theirThing, noThing] = [await send(put(foreign)), await send(put(nobody))];
      const told = [theirThing.text.replaceAll(foreign, "ID"), noThing.text.replaceAll(nobody, "ID")];
      expect([theirThing.status, told[0]]).toEqual([noThing.status, told[1]]);
    }
    expect(await rowsOf(theirs.organization.id)).toEqual(before);
  });
});

const reading = operations.filter((each) => !isWriting(each) && (each.path.includes("{organizationId}") || each.path.startsWith("/agent/")));

describe.each(byName(reading))("%s", (_, operation) => {
  test("200 and nothing of another organization in it", async () => {
    const required = operation.parameters.filter((each) => each.in === "query" && each.required).map((each) => `${each.name}=${ours.ids[each.name] ?? "keys"}`);
    const path = `${ours.pathOf(operation)}?${required.join("&")}`;
    const { status, text } = await call(operation.method, path, { headers: ours.credentials(operation) });
    expect({ status, text }).toEqual({ status: 200, text });
    for (const id of [theirs.organization.id, theirs.keys.agentToken, theirs.keys.ingestKey, ...Object.values(own(theirs.ids))])
      expect(text).not.toContain(id ?? "");
  });
});

test("an ingest key opens no other organization", async () => {
  const [ingest] = operations.filter((each) => each.id === "ingestMetrics");
  if (!ingest) throw new Error("there is no such operation");
  const before = await rowsOf(theirs.organization.id);
  expect(await ours.send(ingest, { ids: { organizationId: theirs.organization.id } })).toMatchObject({ status: 403, text: "" });
  expect(await rowsOf(theirs.organization.id)).toEqual(before);
});

test("a worker cannot mix the document of one organization with the name of another", async () => {
  const [save] = operations.filter((each) => each.id === "saveChunks");
  if (!save) throw new Error("there is no such operation");
  const before = await rowsOf(theirs.organization.id);
  const theirDocument = await ours.send(save, { ids: { id: theirs.ids.documentId ?? "" } });
  const noDocument = await ours.send(save, { ids: { id: crypto.randomUUID() } });
  expect([theirDocument.status, theirDocument.text]).toEqual([404, noDocument.text]);
  expect(await rowsOf(theirs.organization.id)).toEqual(before);
});
