import { describe, expect, test } from "bun:test";
import { createApp } from "../../src/app";
import { call } from "../support/call";
import { newOrganization, type TestOrganization } from "../support/people";
import { world } from "../support/world";
import { sendRaw, startWith } from "./servers";

const REFUSED = {
  status: 403,
  body: { message: "Organization headers alone are accepted from a trusted gateway only. Send a user token, or name the gateway in TRUSTED_GATEWAYS." },
};
const pathOf = ({ id }: TestOrganization) => `/organizations/${id}/certs/monitoring/top-expiring`;
const list = (organization: TestOrganization, headers: Record<string, string> = {}, { url = world.url, token = undefined as string | undefined } = {}) =>
  call("GET", pathOf(organization), { url, token, headers: { ...organization.headers("ORG_ADMIN"), ...headers } });
const listFrom = (from: string, url: string, organization: TestOrganization) =>
  sendRaw(
    url,
    [`GET ${pathOf(organization)} HTTP/1.1`, "host: localhost", ...Object.entries(organization.headers("ORG_ADMIN")).map((pair) => pair.join(": "))],
    { from },
  );

const FORWARDED = [{ "x-forwarded-for": "127.0.0.1" }, { "x-forwarded-for": "" }, { "x-real-ip": "127.0.0.1" }, { forwarded: "for=127.0.0.1;host=localhost" }];

describe("no token and no TRUSTED_GATEWAYS: programs on this machine", () => {
  const port = new URL(world.url).port;

  test.each([
    ...FORWARDED,
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "http://localhost:1" },
    { origin: `https://127.0.0.1:${port}` },
    { origin: `http://127.0.0.1:${port}.evil.example` },
    { host: "evil.example" },
    { host: `evil.example:${port}` },
    { host: "localhost.evil.example" },
    { host: "127.0.0.1.evil.example" },
    { host: "10.0.0.1" },
    { host: "portal.example" },
  ])("403 with %j", async (headers) => {
    expect(await list(await newOrganization(), headers)).toMatchObject(REFUSED);
  });

  test("403 on another port or scheme than PUBLIC_URL's", async () => {
    await using server = startWith({ PUBLIC_URL: "https://portal.example" });
    const organization = await newOrganization();
    expect(await list(organization, { host: "portal.example:8443" }, server)).toMatchObject(REFUSED);
    expect(await list(organization, { host: "api.portal.example" }, server)).toMatchObject(REFUSED);
    expect(await list(organization, { host: "portal.example", origin: "https://evil.example" }, server)).toMatchObject(REFUSED);
    expect(await list(organization, { origin: "https://portal.example.evil.example" }, server)).toMatchObject(REFUSED);
  });

  test.each([
    {},
    { host: "localhost" },
    { host: `LOCALHOST:${port}` },
    { host: "127.0.0.1" },
    { host: "127.8.9.10:80" },
    { host: "[::1]:3000" },
    { origin: `http://127.0.0.1:${port}` },
    { host: "localhost:3000", origin: "http://localhost:3000" },
  ])("200 with %j", async (headers) => {
    expect((await list(await newOrganization(), headers)).status).toBe(200);
  });

  test("200 with the name and origin in PUBLIC_URL", async () => {
    await using server = startWith({ PUBLIC_URL: "https://portal.example" });
    const organization = await newOrganization();
    for (const headers of [{ host: "portal.example" }, { host: "Portal.Example", origin: "https://portal.example" }, { origin: "https://portal.example" }])
      expect((await list(organization, headers, server)).status).toBe(200);
  });

  test.each([...FORWARDED, { origin: "https://evil.example" }, { host: "portal.example" }])("200 with a user token, also with %j", async (headers) => {
    const organization = await newOrganization();
    const { token } = await organization.join();
    expect((await list(organization, headers, { token })).status).toBe(200);
  });

  test("403 from 127.0.0.2: only 127.0.0.1 and ::1 are trusted", async () => {
    const organization = await newOrganization();
    expect(await listFrom("127.0.0.2", world.url, organization)).toBe(403);
    expect(await listFrom("127.0.0.1", world.url, organization)).toBe(200);
  });

  test("200 inside the process", async () => {
    const organization = await newOrganization();
    const request = new Request(`http://localhost${pathOf(organization)}`, { headers: organization.headers("ORG_ADMIN") });
    expect((await createApp(world.deps).handle(request)).status).toBe(200);
    const forwarded = new Request(request, { headers: { ...organization.headers("ORG_ADMIN"), "x-forwarded-for": "127.0.0.1" } });
    expect((await createApp(world.deps).handle(forwarded)).status).toBe(403);
  });
});

describe("no token and TRUSTED_GATEWAYS", () => {
  test.each(["10.0.0.0/8", "127.0.0.2", "192.168.1.1, fd00::/8", "::1", "::ffff:10.0.0.1"])("403 for %s, which is not this peer", async (gateways) => {
    await using server = startWith({ TRUSTED_GATEWAYS: gateways });
    const organization = await newOrganization();
    expect(await list(organization, {}, server)).toMatchObject(REFUSED);
    for (const header of ["x-forwarded-for", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip", "forwarded"])
      for (const address of ["10.0.0.1", "127.0.0.2", "192.168.1.1", "for=10.0.0.1"])
        expect(await list(organization, { [header]: address }, server)).toMatchObject(REFUSED);
  });

  test("403 in the same words whether the organization exists or not", async () => {
    await using server = startWith({ TRUSTED_GATEWAYS: "10.0.0.0/8" });
    const organization = await newOrganization();
    expect(await list(organization, {}, server)).toMatchObject(REFUSED);
    const id = crypto.randomUUID();
    expect(await list({ ...organization, id }, { "x-organization-id": id }, server)).toMatchObject(REFUSED);
    expect(await list({ ...organization, id }, {}, server)).toMatchObject(REFUSED);
  });

  test("200 for a user token, from any address", async () => {
    await using server = startWith({ TRUSTED_GATEWAYS: "10.0.0.0/8" });
    const organization = await newOrganization();
    const { token } = await organization.join();
    expect((await list(organization, {}, { url: server.url, token })).status).toBe(200);
  });

  test.each([...FORWARDED, { origin: "https://portal.example" }, { host: "portal.example" }])("200 once loopback is named, also with %j", async (headers) => {
    await using server = startWith({ TRUSTED_GATEWAYS: "127.0.0.1/32" });
    expect((await list(await newOrganization(), headers, server)).status).toBe(200);
  });

  test.each(["127.0.0.2", "127.0.0.2/31", "::ffff:127.0.0.2", "::ffff:127.0.0.0/126"])("200 for %s from 127.0.0.2", async (gateways) => {
    await using server = startWith({ TRUSTED_GATEWAYS: gateways });
    expect(await listFrom("127.0.0.2", server.url, await newOrganization())).toBe(200);
    expect(await listFrom("127.0.0.9", server.url, await newOrganization())).toBe(403);
  });

  test("an IPv4 peer of an IPv6 socket is its IPv4 address", async () => {
    await using server = startWith({ HOST: "::", TRUSTED_GATEWAYS: "127.0.0.2" });
    const organization = await newOrganization();
    expect(await listFrom("127.0.0.2", server.url, organization)).toBe(200);
    expect(await listFrom("127.0.0.1", server.url, organization)).toBe(403);
  });
});

describe("GET /metrics", () => {
  test("403 for whom TRUSTED_GATEWAYS does not name", async () => {
    await using server = startWith({ TRUSTED_GATEWAYS: "10.0.0.0/8" });
    expect((await call("GET", "/metrics", { url: server.url })).status).toBe(403);
    expect((await call("GET", "/metrics", { headers: { "x-forwarded-for": "127.0.0.1" } })).status).toBe(403);
    expect((await call("GET", "/metrics")).status).toBe(200);
  });
});
