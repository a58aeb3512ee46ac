import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { reply, startMailServer } from "../support/server/mail-server";
import { newDirectory, run } from "../support/server/program";

setDefaultTimeout(300_000);

const place = newDirectory();
afterAll(() => place.remove());
const withMail = (SMTP_URL: string) => ({ ...place.env, SMTP_URL, MAIL_FROM: "Certitude <certitude@example.org>", PUBLIC_URL: "https://certitude.example" });
const mailTest = (env: Record<string, string>, to = "ada@example.org") => run(["mail", "test", "--to", to], env);

test("mail test sends one mail and says so", async () => {
  const server = await startMailServer();
  const { code, out, err } = await mailTest(withMail(server.url));
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/^127\.0\.0\.1:\d+ took the mail to ada@example\.org: <[0-9a-f-]{36}@example\.org>$/);
  expect(server.received.map(({ to }) => to)).toEqual(["ada@example.org"]);
  await server.stop();
});

test("mail test says in plain words what failed, and never the password", async () => {
  const onAuth = (_: unknown, __: unknown, done: (error: Error) => void) => done(reply(535, "not hunter2"));
  const server = await startMailServer({ options: { authOptional: false, onAuth } });
  const { code, out, err } = await mailTest(withMail(`smtp://ada:hunter2@127.0.0.1:${server.port}`));
  expect({ code, out, err }).toEqual({ code: 1, out: "", err: `127.0.0.1:${server.port} refuses the user and the password of SMTP_URL (535).` });
  await server.stop();
  expect(await mailTest(withMail(server.url))).toEqual({ code: 1, out: "", err: `127.0.0.1:${server.port} refuses the connection.` });
});

test("mail test without a mail server, with a wrong one or to no address is wrong usage", async () => {
  expect(await mailTest(place.env)).toEqual({ code: 2, out: "", err: "There is no mail server to try: set SMTP_URL, MAIL_FROM and PUBLIC_URL." });
  expect(await mailTest(withMail("smtp://ada:hunter2@mail.example/x"))).toEqual({
    code: 2,
    out: "",
    err: "SMTP_URL must end after the host, the port and the parameters.",
  });
  const { code, err } = await mailTest(withMail("smtp://mail.example"), "ada");
  expect([code, err.includes("It must be an e-mail address.")]).toEqual([2, true]);
});
