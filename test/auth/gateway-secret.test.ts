import { describe, expect, test } from "bun:test";
import { createApp } from "#app";
import { batch, pathOf as ingestOf } from "../modules/governance/ai-systems/senders";
import { call } from "../support/server/call";
import { newOrganization } from "../support/server/people";
import { list, listFrom, pathOf, REFUSED, startDemo } from "./gateway";
import { startWith } from "./servers";

describe("no token and GATEWAY_SECRET", () => {
  const [old, fresh] = ["the old secret of the gateway that is long enough", "the fresh secret of the gateway that is long enough"];
  const secret = (value: string) => ({ "x-gateway-secret": value });

  test.each([
    {},
    secret(""),
    secret("another secret of the gateway that is long enough"),
    secret(old.slice(0, -1)),
    secret(`${old}x`),
    secret(old.toUpperCase()),
    secret(`${old},${fresh}`),
    secret(`${old}, ${old}`),
    { authorization: "" },
    { "gateway-secret": old },
  ])("403 (401 with authorization) with %j", async (headers: Record<string, string>) => {
    await using server = startWith({ GATEWAY_SECRET: `${old},${fresh}` });
    const organization = await newOrganization();
    const answer = await list(organization, headers, server);
    if ("authorization" in headers) return expect(answer).toMatchObject({ status: 401 });
    expect(answer).toMatchObject(REFUSED);
    expect((await call("POST", ingestOf(organization), { body: batch(), url: server.url, headers })).status).toBe(401);
    expect((await call("GET", "/metrics", { url: server.url, headers })).status).toBe(401);
  });

  test("403 when it is sent twice, and from a machine that is not named", async () => {
    await using server = startWith({ GATEWAY_SECRET: old, TRUSTED_GATEWAYS: "127.0.0.2" });
    const organization = await newOrganization();
    const line = `X-Gateway-Secret: ${old}`;
    expect(await listFrom("127.0.0.2", server.url, organization, [line, line])).toBe(403);
    expect(await listFrom("127.0.0.2", server.url, organization, [line, "x-gateway-secret:"])).toBe(403);
    expect(await listFrom("127.0.0.1", server.url, organization, [line])).toBe(403);
    expect(await listFrom("127.0.0.2", server.url, organization, [line])).toBe(200);
  });

  test("403 on the demo and inside the process without it", async () => {
    await using server = startDemo({ GATEWAY_SECRET: old });
    const organization = await newOrganization();
    expect(await list(organization, {}, server)).toMatchObject(REFUSED);
    expect((await list(organization, secret(old), server)).status).toBe(200);
    const headers = organization.headers("ORG_ADMIN");
    const ask = (more: object) => createApp(server.deps).handle(new Request(`http://localhost${pathOf(organization)}`, { headers: { ...headers, ...more } }));
    expect([(await ask({})).status, (await ask(secret(old))).status]).toEqual([403, 200]);
  });

  test("200 with either one while it is rotated, forwarded or not", async () => {
    await using server = startWith({ GATEWAY_SECRET: `${old}, ${fresh}` });
    const organization = await newOrganization();
    for (const value of [old, fresh]) {
      expect((await list(organization, secret(value), server)).status).toBe(200);
      expect((await list(organization, { ...secret(value), "x-forwarded-for": "203.0.113.7", host: "portal.example" }, server)).status).toBe(200);
      expect((await call("GET", "/metrics", { url: server.url, headers: secret(value) })).status).toBe(200);
    }
    expect((await call("POST", ingestOf(organization), { body: batch(), url: server.url, headers: secret(old) })).status).toBe(202);
  });

  test("a user token needs none", async () => {
    await using server = startWith({ GATEWAY_SECRET: old });
    const organization = await newOrganization();
    const { token } = await organization.join();
    expect((await list(organization, {}, { url: server.url, token })).status).toBe(200);
  });
});
