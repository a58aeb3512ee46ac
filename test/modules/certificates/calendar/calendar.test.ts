import { describe, expect, test } from "bun:test";
import ICAL from "ical.js";
import { writeCalendar } from "#modules/certificates/calendar/rules";
import { certificate, importInto } from "../../../support/pki/certificates";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const LINKS = "/certificates/calendar-links";
const encoder = new TextEncoder();

/** The events of a calendar, as an independent parser reads them. */
function read(text: string) {
  const calendar = new ICAL.Component(ICAL.parse(text));
  const events = calendar.getAllSubcomponents("vevent").map((each) => new ICAL.Event(each));
  return { name: String(calendar.getFirstPropertyValue("name")), components: calendar.getAllSubcomponents().length, events };
}

async function newCalendar() {
  const organization = await newOrganization();
  const { body } = await organization.admin("POST", LINKS, { body: { name: "Operations" } });
  const fetchCalendar = (headers = {}) => fetch(body.url, { headers });
  return { organization, link: body, fetchCalendar };
}

describe("a calendar link", () => {
  test("POST, GET and DELETE /certificates/calendar-links 403 for an ORG_MEMBER; DELETE 404 for none", async () => {
    const { organization, link } = await newCalendar();
    expect((await organization.member("POST", LINKS, { body: { name: "x" } })).status).toBe(403);
    expect((await organization.member("GET", LINKS)).status).toBe(403);
    expect((await organization.member("DELETE", `${LINKS}/${link.id}`)).status).toBe(403);
    expect((await organization.admin("DELETE", `${LINKS}/${crypto.randomUUID()}`)).status).toBe(404);
  });

  test("POST /certificates/calendar-links 400 without a name", async () => {
    const { organization } = await newCalendar();
    expect(await organization.admin("POST", LINKS, { body: {} })).toMatchObject({ status: 400, body: { message: expect.stringContaining("body.name") } });
  });

  test("POST /certificates/calendar-links 409 for one more than a hundred", async () => {
    const { organization } = await newCalendar();
    await world.sql`
      insert into calendar_links (organization_id, id, name, secret_hash, created_by)
      select ${organization.id}, new_id(), 'n', sha256(n::text::bytea), '{"type":"user"}' from generate_series(1, 99) as n`;
    expect(await organization.admin("POST", LINKS, { body: { name: "x" } })).toMatchObject({ status: 409, body: {} });
  });

  test("POST /certificates/calendar-links 201, the address is shown once, and stored only as a hash; the trail knows who made and who revoked it", async () => {
    const { organization, link, fetchCalendar } = await newCalendar();
    expect(link.url).toStartWith(`${world.url}/organizations/${organization.id}/certificates.ics?key=cal_`);
    const { body: list } = await organization.admin("GET", LINKS);
    expect(list).toEqual({ items: [{ ...link, url: undefined }], nextCursor: null });
    const key = new URL(link.url).searchParams.get("key") ?? "";
    const [{ rows } = { rows: "" }] = await world.sql<{ rows: string }[]>`
      select (select json_agg(l) from calendar_links l)::text || (select json_agg(e) from audit_events e where organization_id = ${organization.id})::text as rows`;
    expect(rows).not.toContain(key);
    expect((await fetchCalendar()).status).toBe(200);
    expect((await organization.admin("DELETE", `${LINKS}/${link.id}`)).status).toBe(204);
    expect((await fetchCalendar()).status).toBe(403);
    const { body: trail } = await organization.admin("GET", "/audit-events");
    expect(trail.items.map(({ action }: { action: string }) => action)).toEqual(["calendar-link.revoked", "calendar-link.created", "organization.created"]);
  });
});

describe("GET certificates.ics", () => {
  test("403 for another key, another organization's, or another path, and without one", async () => {
    const [{ link }, { organization }] = [await newCalendar(), await newCalendar()];
    const { search } = new URL(link.url);
    for (const path of [
      `/organizations/${organization.id}/certificates.ics${search}`,
      `${new URL(link.url).pathname}?key=cal_x`,
      `/organizations/x/certificates.ics${search}`,
      new URL(link.url).pathname,
      `${new URL(link.url).pathname}${search}&key=cal_x`,
    ])
      expect((await fetch(`${world.url}${path}`)).status).toBe(403);
  });

  test("200 active certificates that expire within 400 days and are not renewed, the soonest first; 304 while nothing has changed", async () => {
    const { organization, fetchCalendar } = await newCalendar();
    const [later, soon, , revoked] = await importInto(
      organization,
      certificate({ commonName: "later.example", days: 200 }).pem,
      certificate({ commonName: "soon.example", days: 20 }).pem,
      certificate({ commonName: "renewed.example", days: 10 }).pem,
      certificate({ commonName: "revoked.example", days: 30 }).pem,
      certificate({ commonName: "renewed.example", days: 500 }).pem,
      certificate({ commonName: "expired.example", from: -90, days: -1 }).pem,
    );
    await organization.admin("POST", `/certificates/${revoked}/revoke`, { body: {} });
    const answer = await fetchCalendar();
    expect(answer.headers.get("content-type")).toBe("text/calendar; charset=utf-8");
    expect(answer.headers.get("cache-control")).toStartWith("private");
    const { name, events } = read(await answer.text());
    expect(name).toBe(`Certificates of Organization ${organization.id}`);
    expect(events.map(({ uid, summary }) => [uid, summary])).toEqual([
      [soon ?? "", "soon.example expires"],
      [later ?? "", "later.example expires"],
    ]);
    const { body } = await organization.admin("GET", `/certificates/${soon}`);
    expect(events[0]?.startDate.toJSDate().toISOString()).toBe(body.notAfter);
    const known = { "if-none-match": answer.headers.get("etag") ?? "" };
    expect((await fetchCalendar(known)).status).toBe(304);
    await organization.admin("DELETE", `/certificates/${soon}`);
    expect((await fetchCalendar(known)).status).toBe(200);
  });
});

describe("a calendar", () => {
  const expiry = {
    id: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01",
    commonName: "a",
    issuer: "CN=b",
    notAfter: "2030-01-15T12:00:05.000Z",
    updatedAt: "2026-01-01T00:00:00.000Z",
  };

  test.each([
    ["lines of its own", "x\r\nEND:VEVENT\r\nBEGIN:VALARM\r\nACTION:AUDIO\nX:y\rZ", "x\nEND:VEVENT\nBEGIN:VALARM\nACTION:AUDIO\nX:y\nZ"],
    ["what separates values", 'a,b;c:d\\n"e"\\', 'a,b;c:d\\n"e"\\'],
    ["control characters", "a\0b\u0007c\u2028d\u0085e", "a b c d e"],
    ["a lone surrogate", "a\ud800b", "a\ufffdb"],
  ])("reads a name with %s as text", (_, commonName, expected) => {
    const { events, components } = read(writeCalendar("Names", [{ ...expiry, commonName, issuer: commonName }]));
    expect(components).toBe(1);
    expect(events.map(({ summary, description }) => [summary, description])).toEqual([[`${expected} expires`, `Issued by ${expected}`]]);
  });

  test("has lines of 75 octets at most, folded between characters, and CRLF at each end", () => {
    const commonName = "üß日本🔏,;".repeat(100);
    const text = writeCalendar(commonName, [{ ...expiry, commonName, issuer: commonName }]);
    const lines = text.split("\r\n");
    expect(lines.pop()).toBe("");
    expect(Math.max(...lines.map((line) => encoder.encode(line).length))).toBe(75);
    expect(text.replaceAll("\r\n", "")).not.toMatch(/[\r\n\ufffd]/);
    expect(read(text).events[0]?.summary).toBe(`${[...commonName].slice(0, 200).join("")} expires`);
  });

  test("writes moments in UTC", () => {
    const text = writeCalendar("x", [expiry]);
    expect(text).toContain("\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20300115T120005Z\r\n");
  });
});
