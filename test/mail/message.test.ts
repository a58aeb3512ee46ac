import { describe, expect, test } from "bun:test";
import { type Mail, toMessage } from "#mail/message";

const sender = { name: "Certitude", address: "certitude@example.org" };
const id = "0193b3c0-0000-7000-8000-0000000000ad";
const queuedAt = new Date("2026-11-22T17:50:00Z");
const url = "https://certitude.example/invitations/accept#token";

const message = (mail: Partial<Mail> = {}) =>
  toMessage({ id, queuedAt, mail: { to: { name: "", address: "ada@example.org" }, subject: "Hello", body: ["Hello"], ...mail } }, sender);

const NASTY = `<script>alert(1)</script> {{constructor}} "quoted" 'too' & more`;

describe("toMessage", () => {
  test("has the same Message-ID and date at each attempt, and says that no person wrote it", () => {
    expect(message()).toMatchObject({ messageId: `<${id}@example.org>`, date: queuedAt, headers: { "Auto-Submitted": "auto-generated" } });
  });

  test("offers to unsubscribe only where there is something to unsubscribe", () => {
    expect(message().headers).not.toHaveProperty("List-Unsubscribe");
    expect(message({ unsubscribeUrl: "https://certitude.example/x" }).headers).toHaveProperty("List-Unsubscribe", "<https://certitude.example/x>");
  });

  test("offers a mail reader to unsubscribe by itself only where the address is an https one (RFC 8058)", () => {
    expect(message({ unsubscribeUrl: "https://certitude.example/x?a=1&b=2" }).headers).toHaveProperty("List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
    expect(message({ unsubscribeUrl: "http://certitude.example/x" }).headers).not.toHaveProperty("List-Unsubscribe-Post");
    const { text, html } = message({ unsubscribeUrl: "https://certitude.example/x?a=1&b=2" });
    expect(text).toEndWith("\n\n--\nGet no more mails of this kind:\nhttps://certitude.example/x?a=1&b=2\n");
    expect(html).toContain('<a href="https://certitude.example/x?a=1&amp;b=2"');
  });

  test("belongs to the thread of what it is about, and without one to none", () => {
    expect(message({ thread: "a.b" })).toMatchObject({ inReplyTo: "<a.b@example.org>", references: "<a.b@example.org>", messageId: `<${id}@example.org>` });
    expect(message()).not.toHaveProperty("references");
  });

  test("lists lines under a heading, each as it is, with its link", () => {
    const { text, html } = message({ body: [{ heading: `Of ${NASTY}\r\n`, lines: [{ text: NASTY, url }, { text: "plain\n- not a line" }] }] });
    expect(text).toBe(`Of ${NASTY}:\n- ${NASTY}\n  ${url}\n- plain - not a line\n`);
    expect(html).not.toContain("<script");
    expect(html.match(/<li>/g)).toHaveLength(2);
    expect(html).toContain(`<li><a href="${url}"`);
  });

  test("holds the link once in each part, and no image", () => {
    const { text, html } = message({ body: ["Hello", { label: "Accept", url }, "Bye"] });
    expect(text).toBe(`Hello\n\nAccept:\n${url}\n\nBye\n`);
    expect(html.split(url)).toHaveLength(2);
    expect(html).toContain(`<a href="${url}"`);
    expect(html).not.toContain("<img");
  });

  test("shows what others chose as it is, and never as markup or a template", () => {
    const { text, html, subject } = message({ subject: NASTY, body: [NASTY, { label: NASTY, url: 'https://x.example/"><b>' }] });
    expect([subject, text.split("\n")[0]]).toEqual([NASTY, NASTY]);
    expect(html).not.toContain("<script");
    expect(html).not.toContain('"><b>');
    const shown = "&lt;script&gt;alert(1)&lt;/script&gt; {{constructor}} &quot;quoted&quot; &#39;too&#39; &amp; more";
    expect(html.split(shown)).toHaveLength(4);
  });

  test.each(["\r\nBcc: eve@example.org", "\nBcc: eve@example.org", "\rBcc: eve@example.org", "\0", "\u2028Bcc: eve@example.org"])(
    "keeps %j out of each header",
    (end) => {
      const { subject, to } = message({ subject: `Hello${end}`, to: { name: `Ada${end}`, address: "ada@example.org" } });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
      expect(`${subject}${to.name}`).not.toMatch(/[\u0000-\u001f\u2028]/);
      expect(() => message({ to: { name: "", address: `ada@example.org${end}` } })).toThrow("none that mail can be sent to");
    },
  );

  test("is sent to the domain in punycode", () => {
    const { to, envelope } = message({ to: { name: "", address: "ada@аррӏе.com" } });
    expect([to.address, envelope.to]).toEqual(["ada@xn--80ak6aa92e.com", ["ada@xn--80ak6aa92e.com"]]);
  });
});
