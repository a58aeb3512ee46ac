import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createKeyring } from "#crypto/keyring";
import { createUnsubscribeLinks } from "#modules/notifications/mail/services/unsubscribe-links";
import { addEvent } from "../../../support/server/dispatching";
import { finished, headerOf, newTeam, preferencesOf, startNoticeMail } from "../../../support/server/notice-mail";
import { world } from "../../../support/server/world";

setDefaultTimeout(600_000);

const mail = await startNoticeMail();
await mail.server.run();
afterAll(mail.stop);

/** The link at the foot of a mail that an admin got, on the server of the tests. */
async function linkOf(kind: "certificate_revoked" | "daily_digest") {
  const { organization, admin, revoke } = await newTeam();
  if (kind === "certificate_revoked") await revoke("www.example.com", { role: "ORG_ADMIN" });
  else await addEvent(organization.id, finished("New root"));
  await mail.dispatch(new Date("2030-03-30T20:00:00Z"));
  await mail.digest(new Date("2030-03-31T08:00:00Z"));
  await mail.settled();
  const [received] = mail.mailsTo(admin);
  const url = new URL(/<(.+)>/.exec(headerOf(received, "List-Unsubscribe") ?? "")?.[1] ?? "");
  return { admin, received, url, at: `${world.url}${url.pathname}${url.search}` };
}

const oneClick = (url: string) =>
  fetch(url, { method: "POST", body: "List-Unsubscribe=One-Click", headers: { "content-type": "application/x-www-form-urlencoded" } });

describe("a link of /notifications/unsubscribe", () => {
  test("stands in the headers of a mail and at its foot", async () => {
    const { received, url } = await linkOf("certificate_revoked");
    expect(url.origin).toBe("https://certitude.example");
    expect(headerOf(received, "List-Unsubscribe-Post")).toBe("List-Unsubscribe=One-Click");
    expect(received?.text).toContain(`Get no more mails of this kind:\n${url.href}\n`);
    expect(received?.html).toContain(url.href.replaceAll("&", "&amp;"));
  });

  test("GET 200 a page with a button, and nothing changes", async () => {
    const { admin, at } = await linkOf("certificate_revoked");
    for (const method of ["GET", "HEAD"]) {
      const answer = await fetch(at, { method });
      expect([answer.status, answer.headers.get("content-type"), answer.headers.get("cache-control")]).toEqual([200, "text/html; charset=utf-8", "no-store"]);
      expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
      if (method === "GET") expect(await answer.text()).toContain('<form method="post">');
    }
    expect(await preferencesOf(admin)).toMatchObject({ version: 0, mail: { certificate_revoked: "at_once" } });
  });

  test.each(["one-click form", "multipart form", "no body", "a body of another kind"])("POST 200 ends this kind alone, once, with %s", async (body) => {
    const { admin, at } = await linkOf("certificate_revoked");
    const before = await preferencesOf(admin);
    const form = new FormData();
    form.set("List-Unsubscribe", "One-Click");
    const init =
      { "one-click form": {}, "multipart form": { body: form }, "no body": {}, "a body of another kind": { body: "x".repeat(2_000_000) } }[body] ?? {};
    for (let count = 0; count < 2; count++) {
      const answer = await (body === "one-click form" ? oneClick(at) : fetch(at, { method: "POST", ...init }));
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain("certificate revoked");
    }
    expect(await preferencesOf(admin)).toEqual({
      ...before,
      updatedAt: expect.any(String),
      version: 1,
      mail: { ...before.mail, certificate_revoked: "off" },
    } as never);
  });

  test("POST 200 of a digest ends every kind that was daily, and leaves the others", async () => {
    const { admin, at } = await linkOf("daily_digest");
    const { mail: before } = await preferencesOf(admin);
    expect((await oneClick(at)).status).toBe(200);
    const { mail: after } = await preferencesOf(admin);
    expect(after).toEqual(Object.fromEntries(Object.entries(before).map(([kind, frequency]) => [kind, frequency === "daily" ? "off" : frequency])) as never);
  });

  const change = (name: string, value: string) => (query: URLSearchParams) => query.set(name, value);
  test.each<[string, (query: URLSearchParams) => void]>([
    ["another user", change("user", crypto.randomUUID())],
    ["another kind", change("mails", "agent_silent")],
    ["another signature", change("signature", "A".repeat(43))],
    ["no signature", (query) => query.delete("signature")],
    ["another key", change("keyId", "0123456789abcdef")],
    ["a parameter too many", change("x", "1")],
    ["a parameter twice", (query) => query.append("mails", "certificate_revoked")],
    ["no user", (query) => query.delete("user")],
  ])("GET and POST 403 with %s", async (_, spoil) => {
    const { admin, at } = await linkOf("certificate_revoked");
    const url = new URL(at);
    spoil(url.searchParams);
    for (const answer of [await fetch(url), await oneClick(url.href)]) {
      expect(answer.status).toBe(403);
      expect(await answer.json()).toEqual({ message: expect.stringContaining("This link is not valid.") });
    }
    expect(await preferencesOf(admin)).toMatchObject({ version: 0 });
  });

  test("holds while the key that signed it is in the ring, and not with a signature for something else", async () => {
    const [old, renewed] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const given = { userId: crypto.randomUUID(), ended: "agent_silent" as const };
    const query = new URL(createUnsubscribeLinks(createKeyring([old])).urlOf("https://x.example/path/", given)).searchParams;
    expect(createUnsubscribeLinks(createKeyring([renewed, old])).read(query)).toEqual(given);
    expect(createUnsubscribeLinks(createKeyring([renewed])).read(query)).toBeUndefined();
  });
});
