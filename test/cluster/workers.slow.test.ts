import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { call } from "../support/server/call";
import { newUser } from "../support/server/people";
import { connectTo } from "../support/server/postgres";
import { newPlace, run } from "../support/server/program";
import { connectToWorker, figures, serveWithWorkers, sum } from "../support/server/workers";

setDefaultTimeout(300_000);

// The embedded database is one session.
if (Bun.env.TEST_DATABASE_URL)
  describe("two workers", () => {
    let place: Awaited<ReturnType<typeof newPlace>>;
    let server: Awaited<ReturnType<typeof serveWithWorkers>>;
    const connections: Awaited<ReturnType<typeof connectToWorker>>[] = [];
    beforeAll(async () => {
      place = await newPlace();
      server = await serveWithWorkers({ ...place.env, TRUSTED_GATEWAYS: "127.0.0.1", RATE_LIMITS: "user=1000/86400" });
    });
    afterAll(async () => {
      for (const { close } of connections) close();
      await server.exit("SIGTERM");
      await place.remove();
    });

    /** A connection to each. */
    async function connectToBoth() {
      const both = await Promise.all([connectToWorker(server.at, 1), connectToWorker(server.at, 2)]);
      connections.push(...both);
      return both;
    }

    test("show the figures of both in one page, and count every request and every refusal once", async () => {
      const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await fetch(`${server.at}/users/me`)).status));
      for (const { ask } of await connectToBoth()) statuses.push((await ask("GET", "/users/me")).status);
      expect(statuses).toEqual(Array(42).fill(401));
      const { text } = await call("GET", "/metrics", { url: server.at });
      const counts = text.split("\n").filter((line) => /^certitude_http_request_duration_seconds_count\{.*route="\/users\/me"/.test(line));
      expect(counts.map((line) => /worker="(\d)"/.exec(line)?.[1]).sort()).toEqual(["1", "2"]);
      expect(sum(counts.map((line) => Number(line.split(" ").at(-1))))).toBe(42);
      expect(text.match(/^# TYPE certitude_http_request_duration_seconds /gm)).toHaveLength(1);
      expect(text.match(/^certitude_certificates\{days_left="expired"/gm)).toHaveLength(1); // by the one that runs the jobs
      expect(await figures(server.at, "certitude_database_connections_max")).toEqual([4, 4]);
      const { $client: sql } = connectTo(place.env.DATABASE_URL ?? "");
      const counted = async () =>
        (await sql`select details->>'count' as count from platform_audit_events where target_id = 'GET /users/me'`).map(({ count }) => Number(count));
      while (sum(await counted()) < 42) await Bun.sleep(50);
      expect(sum(await counted())).toBe(42);
      await sql.end();
    });

    test("take from one limit what either grants a caller", async () => {
      const [one, other] = await connectToBoth();
      const { token } = await newUser();
      const left = async ({ ask }: typeof one) => {
        const { headers } = await ask("GET", "/users/me", { authorization: `Bearer ${token}` });
        return Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
      };
      for (let count = 1; count <= 100; count++) await left(one);
      let asked = 1;
      while ((await left(other)) > 950 - asked) asked++;
      expect(asked).toBeLessThan(950); // alone it would have taken all of them itself
    });

    test("send a notification to the streams of both", async () => {
      const streams = await connectToBoth();
      const user = await newUser();
      const bothSay = async (text: string) => {
        while (!streams.every(({ received }) => received().includes(text))) await Bun.sleep(20);
      };
      for (const { begin } of streams) begin(`GET /users/me/notifications/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${user.token}\r\n\r\n`);
      await bothSay("retry: 2000");
      expect((await user.call("POST", "/users/me/notifications/examples", { url: server.at, body: {} })).status).toBe(201);
      await bothSay("event: notice");
    });

    test("refuse a token that the other has revoked or signed out", async () => {
      const admin = await newUser();
      const wish = ["admin", "create-organization", "--name", "Example", "--admin-user", admin.id, "--admin-email", admin.email];
      const { out: id } = await run(wish, place.env);
      const [one, other] = await connectToBoth(); // now: the server closes a connection that rests
      const bearer = (token: string) => ({ authorization: `Bearer ${token}`, "x-organization-id": id, "x-organization-role": "ORG_ADMIN" });
      const statuses = (token: string) =>
        Promise.all([one, other].map(async ({ ask }) => (await ask("GET", `/organizations/${id}/certificates`, bearer(token))).status));

      const path = `/organizations/${id}/api-tokens`;
      const body = { name: "Pipeline", role: "ORG_ADMIN" };
      const { body: made } = await call("POST", path, { url: server.at, body, headers: bearer(admin.token) });
      expect(await statuses(made.token)).toEqual([200, 200]);
      expect((await one.ask("DELETE", `${path}/${made.id}`, bearer(admin.token))).status).toBe(204);
      expect(await statuses(made.token)).toEqual([401, 401]);

      expect(await statuses(admin.token)).toEqual([200, 200]);
      expect((await one.ask("POST", "/auth/sign-out", bearer(admin.token))).status).toBe(204);
      while ((await statuses(admin.token)).join() !== "401,401") await Bun.sleep(5);
    });
  });
