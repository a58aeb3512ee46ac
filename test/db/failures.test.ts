import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { unavailability } from "#db/failures";
import { newOrganization } from "../support/server/people";
import { world } from "../support/server/world";

beforeAll(async () => {
  await world.sql.unsafe(`
    create function fail_as_named() returns trigger language plpgsql as $$ begin raise exception 'no room on the server' using errcode = substr(new.name, 6); end $$;
    create trigger fail_as_named before insert on agents for each row when (new.name like 'fail %') execute function fail_as_named()`);
});
afterAll(async () => {
  await world.sql.unsafe("drop trigger fail_as_named on agents; drop function fail_as_named()");
});

const fail = async (code: string) => (await newOrganization()).admin("POST", "/agents", { body: { name: `fail ${code}` } });

const AWAY = ["08000", "08006", "25006", "25P03", "25P04", "40001", "40003", "40P01", "53300", "55006", "55P03", "57014", "57P03", "72000"];
const EXHAUSTED = ["53000", "53100", "53200", "53400", "58000", "58030"];
const LOCKED_OUT = ["28000", "28P01", "3D000"];
const OUR_FAULT = ["22012", "22P02", "23503", "42501", "42P01", "54001", "58P01", "P0001", "XX000", "XX001"];

describe("a write that Postgres fails", () => {
  test.each(AWAY)("503 and another try at once for %s: the database is away or busy", async (code) => {
    const answer = await fail(code);
    expect(answer).toMatchObject({ status: 503, body: { message: "The database is away or too slow. Try again in a moment." } });
    expect(answer.headers.get("retry-after")).toBe("1");
  });

  test.each(EXHAUSTED)("503 and another try later for %s: a resource is used up", async (code) => {
    const answer = await fail(code);
    expect(answer).toMatchObject({ status: 503, body: { message: "The server has run out of disk, memory or another resource. Try again later." } });
    expect(answer.headers.get("retry-after")).toBe("30");
  });

  test.each(LOCKED_OUT)("503 and another try later for %s: the server is not let in", async (code) => {
    const answer = await fail(code);
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("30");
  });

  test.each(OUR_FAULT)("500 for %s, which trying again does not mend", async (code) => {
    const answer = await fail(code);
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain("no room");
  });
});

describe("what the operating system refuses", () => {
  test.each(["ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "ENOMEM"])("%s is a resource that is used up, wrapped or not", (code) => {
    const error = Object.assign(new Error("no space left on device"), { code });
    expect(unavailability(error)).toBe("exhausted");
    expect(unavailability(new Error("the file could not be stored", { cause: error }))).toBe("exhausted");
  });

  test("EACCES is a fault of the installation", () => {
    expect(unavailability(Object.assign(new Error("permission denied"), { code: "EACCES" }))).toBeUndefined();
  });
});
