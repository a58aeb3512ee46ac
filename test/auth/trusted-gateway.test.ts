import { describe, expect, test } from "bun:test";
import { createApp } from "#app";
import { readConfig } from "#config";
import { createDeps } from "#deps";
import { batch, pathOf as ingestOf } from "../modules/governance/ai-systems/senders";
import { call } from "../support/server/call";
import { newOrganization } from "../support/server/people";
import { environment, world } from "../support/server/world";
import { FORWARDED, list, listFrom, pathOf, REFUSED } from "./gateway";
import { startWith } from "./servers";

describe("no token and no TRUSTED_GATEWAYS: nobody is trusted", () => {
  test.each([{}, { host: "localhost" }, { host: "127.0.0.1:3000" }, { "x-gateway-secret": "x".repeat(32) }, ...FORWARDED])("403 with %j", async (headers) => {
    await using server = startWith({ TRUSTED_GATEWAYS: undefined });
    expect(await list(await newOrganization(), headers, server)).toMatchObject(REFUSED);
  });

  test.each(["", " ", ",", " , ,"])("403 for TRUSTED_GATEWAYS=%j", async (gateways) => {
    await using server = startWith({ TRUSTED_GATEWAYS: gateways });
    expect(await list(await newOrganization(), {}, server)).toMatchObject(REFUSED);
  });

  test("403 inside the process too, and 401 for metrics of AI systems", async () => {
    await using server = startWith({ TRUSTED_GATEWAYS: undefined });
    const organization = await newOrganization();
    const request = new Request(`http://localhost${pathOf(organization)}`, { headers: organization.headers("ORG_ADMIN") });
    expect((await createApp(server.deps).handle(request)).status).toBe(403);
    expect((await call("POST", ingestOf(organization), { body: batch(), url: server.url })).status).toBe(401);
  });

  test.each([...FORWARDED, { origin: "https://evil.example" }, { host: "portal.example" }])("200 with a user token, also with %j", async (headers) => {
    await using server = startWith({ TRUSTED_GATEWAYS: undefined });
    const organization = await newOrganization();
    const { token } = await organization.join();
    expect((await list(organization, headers, { url: server.url, token })).status).toBe(200);
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
    const organization = await newOrganization();
    expect((await list(organization, headers, server)).status).toBe(200);
    expect((await call("POST", ingestOf(organization), { body: batch(), url: server.url, headers })).status).toBe(202);
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

  test("a call inside the process is loopback: 200 where that is named, 403 where another network is", async () => {
    const organization = await newOrganization();
    const ask = async (gateways: string) => {
      const config = readConfig({ ...environment, DATA_DIR: world.directory, TRUSTED_GATEWAYS: gateways });
      const request = new Request(`http://localhost${pathOf(organization)}`, { headers: organization.headers("ORG_ADMIN") });
      return (await createApp(createDeps({ ...world.deps, config })).handle(request)).status;
    };
    expect([await ask("127.0.0.0/8"), await ask("::1"), await ask("10.0.0.0/8")]).toEqual([200, 403, 403]);
  });
});
