import { describe, expect, test } from "bun:test";
import { readMailSettings } from "#mail/settings";

const from = "Certitude <certitude@example.org>";
const publicUrl = "https://certitude.example";

function read(given: { url?: string; from?: string; publicUrl?: string }) {
  const faults: string[] = [];
  const settings = readMailSettings({ url: undefined, from: undefined, publicUrl: undefined, ...given }, (sentence) => faults.push(sentence));
  return { settings, faults };
}
const serverOf = (url: string) => read({ url, from, publicUrl }).settings?.server;

describe("SMTP_URL and MAIL_FROM", () => {
  test("neither is no fault, and no mail", () => {
    expect(read({ publicUrl })).toEqual({ settings: undefined, faults: [] });
  });

  test("one without the other, and both without PUBLIC_URL, are faults", () => {
    expect(read({ from, publicUrl }).faults).toEqual(["SMTP_URL is required with MAIL_FROM: the mail server, such as smtp://user:password@mail.example:587."]);
    expect(read({ url: "smtp://mail.example" }).faults).toEqual([
      "MAIL_FROM is required with SMTP_URL: where mails come from, such as Certitude <certitude@example.org>.",
      "PUBLIC_URL is required with SMTP_URL: links in mails begin with it, and no request may choose where they lead.",
    ]);
  });

  test.each(["certitude", "a@b.example, c@d.example", "Ops <ops>"])("MAIL_FROM=%s is a fault", (wrong) => {
    expect(read({ url: "smtp://mail.example", from: wrong, publicUrl }).faults).toEqual([
      "MAIL_FROM must be an e-mail address, such as certitude@example.org or Certitude <certitude@example.org>.",
    ]);
  });

  const NOT_SMTP = "SMTP_URL must be an absolute URL that starts with smtp:// or smtps://.";
  test.each([
    ["https://ada:secret@mail.example", NOT_SMTP],
    ["mail.example:587", NOT_SMTP],
    ["smtp://", NOT_SMTP],
    ["smtp://ada:secret@mail%zz.example", NOT_SMTP],
    ["smtp://ada:secret@mail.example:99999", NOT_SMTP],
    ["smtp://ada:secret@mail.example/inbox", "SMTP_URL must end after the host, the port and the parameters."],
    ["smtp://ada:secret@mail.example#x", "SMTP_URL must end after the host, the port and the parameters."],
    ["smtp://ada@mail.example", "SMTP_URL must name a user and a password, or neither."],
    ["smtp://:secret@mail.example", "SMTP_URL must name a user and a password, or neither."],
    ["smtp://ada:secret%zz@mail.example", "SMTP_URL has a percent sign that begins no escape such as %40."],
    ["smtp://ada:secret@mail.example?tls=no", 'SMTP_URL has a parameter that is not known: "tls". Known are requireTLS, ca.'],
    ["smtp://ada:secret@mail.example?requireTLS=no", "SMTP_URL has a requireTLS that is neither true nor false."],
    ["smtp://ada:secret@mail.example?ca=/no/such/file", "SMTP_URL names a file that cannot be read: ca=/no/such/file."],
  ])("SMTP_URL=%s is one fault, which never holds the password", (url, sentence) => {
    const { faults, settings } = read({ url, from, publicUrl });
    expect(faults).toEqual([sentence]);
    expect(settings).toBeUndefined();
    expect(faults.join()).not.toContain("secret");
  });

  test("STARTTLS is required, but on this machine, or where requireTLS says otherwise", () => {
    expect(serverOf("smtp://mail.example")).toEqual({ host: "mail.example", port: 587, isSecure: false, requiresTls: true, isVerified: true });
    expect(serverOf("smtp://10.0.0.1:25?requireTLS=false")).toMatchObject({ port: 25, requiresTls: false, isVerified: true });
    for (const host of ["localhost", "127.0.0.1", "127.8.9.10", "[::1]"])
      expect(serverOf(`smtp://${host}`)).toMatchObject({ host: host.replace(/[[\]]/g, ""), requiresTls: false, isVerified: false });
    expect(serverOf("smtp://localhost?requireTLS=true")).toMatchObject({ requiresTls: true, isVerified: true });
    for (const host of ["127.0.0.1.evil.example", "localhost.evil.example"]) expect(serverOf(`smtp://${host}`)).toMatchObject({ requiresTls: true });
  });

  test("smtps is TLS from the first byte; user and password may hold escapes", () => {
    expect(serverOf("smtps://ada%40example.org:a%2Fb%3Ac@mail.example")).toMatchObject({
      port: 465,
      isSecure: true,
      isVerified: true,
      user: "ada@example.org",
      password: "a/b:c",
    });
    expect(serverOf("smtps://localhost")).toMatchObject({ isVerified: true });
  });
});
