import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { startMailServer } from "../support/server/mail-server";
import { endServers, newPlace, run, serve } from "../support/server/program";

setDefaultTimeout(600_000);

const place = await newPlace();
afterEach(endServers);
afterAll(() => place.remove());

const COUNT = 40;

test("a server that is killed in the middle of sending loses no mail, and doubles only what was under way", async () => {
  const isKilled = Promise.withResolvers<void>();
  const mailServer = await startMailServer({
    whole: async () => (mailServer.received.length < COUNT / 4 ? "take" : isKilled.promise.then(() => "take" as const)),
  });
  const env = { ...place.env, SMTP_URL: mailServer.url, MAIL_FROM: "certitude@example.org", PUBLIC_URL: "https://certitude.example" };
  const user = crypto.randomUUID();
  const { out: organizationId } = await run(
    ["admin", "create-organization", "--name", "Example", "--admin-user", user, "--admin-email", "ada@example.org"],
    env,
  );
  const { out: token } = await run(["token", "--user", user, "--email", "ada@example.org"], env);
  const headers = {
    authorization: `Bearer ${token}`,
    "x-organization-id": organizationId,
    "x-organization-role": "ORG_ADMIN",
    "content-type": "application/json",
  };

  const first = serve(env);
  const url = await first.url();
  const emails = Array.from({ length: COUNT }, (_, index) => `user-${index}@people.example`);
  for (const email of emails) {
    const { status } = await fetch(`${url}/organizations/${organizationId}/members`, { method: "POST", headers, body: JSON.stringify({ email }) });
    expect(status).toBe(201);
  }
  await mailServer.has(COUNT / 4);
  await first.exit("SIGKILL");
  isKilled.resolve();

  const second = serve(env);
  await second.says("server listening");
  const reached = () => new Set(mailServer.received.map(({ to }) => to));
  while (reached().size < COUNT) await Bun.sleep(50);
  expect([...reached()].toSorted()).toEqual(emails.toSorted());
  expect(mailServer.received.length).toBeLessThanOrEqual(COUNT + 8);
  expect(new Set(mailServer.received.map(({ messageId }) => messageId)).size).toBe(COUNT);
  expect((await second.exit("SIGTERM")).code).toBe(0);
  await mailServer.stop();
});
