import { describe, expect, test } from "bun:test";
import { KIND_NAMES, kindOf } from "#modules/notifications/events/rules/kinds";
import { call } from "../../../support/server/call";
import { newUser } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";

const PATH = "/users/me/notifications/preferences";
const defaults = Object.fromEntries(KIND_NAMES.map((kind) => [kind, kindOf(kind).mail]));

describe("GET /users/me/notifications/preferences", () => {
  test("401 for a stranger", async () => {
    expect(await call("GET", PATH)).toMatchObject({ status: 401, body: "" });
  });

  test("200 the defaults of every kind, in version 0", async () => {
    const { status, body, headers } = await (await newUser()).call("GET", PATH);
    expect([status, headers.get("etag")]).toEqual([200, readTag(0)]);
    expect(body).toEqual({ timeZone: "UTC", digestHour: 8, mail: defaults, version: 0, updatedAt: null });
  });
});

describe("PATCH /users/me/notifications/preferences", () => {
  test("401 for a stranger, whatever the body", async () => {
    expect(await call("PATCH", PATH, { body: { nonsense: true } })).toMatchObject({ status: 401, body: "" });
  });

  test.each([
    [{}, "The body must have at least 1 of its fields."],
    [{ timeZone: "Mars/Olympus" }, "body.timeZone must be a name of the IANA time zone database, such as Europe/Berlin."],
    [{ timeZone: "+01:00" }, "body.timeZone must be a name of the IANA time zone database, such as Europe/Berlin."],
    [{ timeZone: "x".repeat(65) }, "body.timeZone must be text of 1 to 64 characters, without NUL."],
    [{ digestHour: 24 }, "body.digestHour must be a whole number from 0 to 23."],
    [{ digestHour: -1 }, "body.digestHour must be a whole number from 0 to 23."],
    [{ digestHour: "8" }, "body.digestHour must be a whole number from 0 to 23."],
    [{ mail: {} }, "body.mail must have at least 1 of its fields."],
    [{ mail: { agent_silent: "hourly" } }, "body.mail.agent_silent must be one of at_once, daily, off."],
    [{ mail: { agent_loud: "off" } }, "body.mail.agent_loud is not a known field."],
    [{ language: "de" }, "body.language is not a known field."],
  ])("400 for %j, and nothing changes", async (body, message) => {
    const user = await newUser();
    expect(await user.call("PATCH", PATH, { body })).toMatchObject({ status: 400, body: { message } });
    expect((await user.call("GET", PATH)).body).toMatchObject({ version: 0 });
  });

  test("200 what is not named stays, and a change to the same keeps the version", async () => {
    const user = await newUser();
    const first = await user.call("PATCH", PATH, { body: { timeZone: " Europe/Berlin ", mail: { agent_silent: "daily" } } });
    expect(first).toMatchObject({ status: 200, body: { timeZone: "Europe/Berlin", digestHour: 8, mail: { ...defaults, agent_silent: "daily" }, version: 1 } });
    expect(first.headers.get("etag")).toBe('"1"');
    const second = await user.call("PATCH", PATH, { body: { digestHour: 0, mail: { rollout_halted: "off" } } });
    expect(second.body).toMatchObject({
      timeZone: "Europe/Berlin",
      digestHour: 0,
      mail: { ...defaults, agent_silent: "daily", rollout_halted: "off" },
      version: 2,
    });
    expect((await user.call("PATCH", PATH, { body: { mail: { rollout_halted: "off" } } })).body).toEqual(second.body);
    expect((await user.call("GET", PATH)).body).toEqual(second.body);
  });

  test("412 for a stale If-Match, of the defaults too; of those that race with the same one, one wins", async () => {
    const user = await newUser();
    const patch = (digestHour: number, tag: string) => user.call("PATCH", PATH, { body: { digestHour }, headers: { "if-match": tag } });
    expect(await patch(9, '"1"')).toMatchObject({ status: 412, body: {} });
    const racing = await Promise.all([1, 2, 3, 4].map((hour) => patch(hour, '"0"')));
    expect(racing.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412]);
    expect((await user.call("GET", PATH)).body).toMatchObject({ version: 1 });
  });
});
