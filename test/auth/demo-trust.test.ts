import { describe, expect, test } from "bun:test";
import { createApp } from "#app";
import { batch, pathOf as ingestOf } from "../modules/governance/ai-systems/senders";
import { call } from "../support/server/call";
import { newOrganization } from "../support/server/people";
import { FORWARDED, list, listFrom, pathOf, REFUSED, startDemo } from "./gateway";

describe("no token on the demo: programs on this machine", () => {
  test.each([
    ...FORWARDED,
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "" },
    { origin: "http://localhost:1" },
    { host: "evil.example" },
    { host: "localhost.evil.example" },
    { host: "127.0.0.1.evil.example" },
    { host: "10.0.0.1" },
    { host: "localhost." },
    { host: "portal.example" },
    { host: "portal.example", origin: "https://portal.example" },
    { origin: "https://portal.example" },
  ])("403 with %j", async (headers) => {
    await using server = startDemo({ PUBLIC_URL: "https://portal.example" });
    const organization = await newOrganization();
    expect(await list(organization, headers, server)).toMatchObject(REFUSED);
    expect((await call("POST", ingestOf(organization), { body: batch(), url: server.url, headers })).status).toBe(401);
    expect((await call("GET", "/metrics", { url: server.url, headers })).status).toBe(401);
  });

  test("403 for its own address in another scheme, or longer", async () => {
    await using server = startDemo();
    const organization = await newOrganization();
    const { host } = new URL(server.url);
    for (const origin of [`https://${host}`, `http://${host}.evil.example`, `http://${host}, http://${host}`])
      expect(await list(organization, { origin }, server)).toMatchObject(REFUSED);
  });

  test("403 from 127.0.0.2: only 127.0.0.1 and ::1 are trusted", async () => {
    await using server = startDemo();
    const organization = await newOrganization();
    expect(await listFrom("127.0.0.2", server.url, organization)).toBe(403);
    expect(await listFrom("127.0.0.1", server.url, organization)).toBe(200);
    await using dual = startDemo({ HOST: "::" });
    expect(await listFrom("127.0.0.2", dual.url, organization)).toBe(403);
    expect(await listFrom("127.0.0.1", dual.url, organization)).toBe(200);
  });

  test.each([
    {},
    { host: "localhost" },
    { host: "LOCALHOST:3000" },
    { host: "127.0.0.1" },
    { host: "127.8.9.10:80" },
    { host: "[::1]:3000" },
    { host: "localhost:3000", origin: "http://localhost:3000" },
  ])("200 with %j", async (headers) => {
    await using server = startDemo();
    const organization = await newOrganization();
    expect((await list(organization, headers, server)).status).toBe(200);
    expect((await call("POST", ingestOf(organization), { body: batch(), url: server.url, headers })).status).toBe(202);
    expect((await call("GET", "/metrics", { url: server.url, headers })).status).toBe(200);
  });

  test("200 inside the process, 403 when the request says that it was forwarded", async () => {
    await using server = startDemo();
    const organization = await newOrganization();
    const request = new Request(`http://localhost${pathOf(organization)}`, { headers: organization.headers("ORG_ADMIN") });
    expect((await createApp(server.deps).handle(request)).status).toBe(200);
    const forwarded = new Request(request, { headers: { ...organization.headers("ORG_ADMIN"), "x-forwarded-for": "127.0.0.1" } });
    expect((await createApp(server.deps).handle(forwarded)).status).toBe(403);
  });
});
