import { describe, expect, test } from "bun:test";
import { STORES } from "#agent/stores/stores";
import catalog from "#modules/fleet/trust-stores/rules/catalog.json";
import { MATERIAL_TYPES } from "#modules/fleet/trust-stores/rules/catalogue";
import { TRUST_STORE_TYPES } from "#modules/fleet/trust-stores/rules/store-types";
import { call } from "../../../support/server/call";
import { newOrganization } from "../../../support/server/people";

const PATH = "/certs/trust-store-catalog";

describe("GET /organizations/{organizationId}/certs/trust-store-catalog", () => {
  test("403 without the organization's headers, whatever is known already", async () => {
    const organization = await newOrganization();
    const { headers } = await organization.member("GET", PATH);
    const known = { "if-none-match": headers.get("etag") ?? "" };
    expect((await call("GET", `/organizations/${organization.id}${PATH}`, { headers: known })).status).toBe(403);
  });

  test("200 every store and language, for either role", async () => {
    const organization = await newOrganization();
    for (const ask of [organization.member, organization.admin]) {
      const { status, body } = await ask("GET", PATH);
      const items = catalog.items.map((each) => ({ ...each, agentInstallable: Object.hasOwn(STORES, each.trustStoreType) }));
      expect({ status, body }).toEqual({ status: 200, body: { items, clientOnlyLanguages: catalog.clientOnlyLanguages } });
    }
  });

  test("200 says of exactly the stores that the agent has code for that it installs them", async () => {
    const { body } = await (await newOrganization()).member("GET", PATH);
    const installable = body.items.filter((each: { agentInstallable: boolean }) => each.agentInstallable);
    expect(installable.map((each: { trustStoreType: string }) => each.trustStoreType).toSorted()).toEqual(Object.keys(STORES).toSorted());
  });

  test("200 with what an assignment may name, and nothing else", async () => {
    const { body } = await (await newOrganization()).member("GET", PATH);
    const items: { trustStoreType: string; materialTypes: string[] }[] = body.items;
    expect(new Set(items.map((each) => each.trustStoreType))).toEqual(new Set(TRUST_STORE_TYPES));
    expect(new Set(items.flatMap((each) => each.materialTypes))).toEqual(new Set(MATERIAL_TYPES));
  });

  test("200 may be kept for an hour by the caller alone; 304 while it is the same", async () => {
    const organization = await newOrganization();
    const first = await organization.member("GET", PATH);
    const tag = first.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[0-9a-f]{32}-zstd"$/);
    expect(first.headers.get("cache-control")).toBe("private, max-age=3600");
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const again = await organization.member("GET", PATH, { headers: { "if-none-match": known } });
      expect([again.status, again.text, again.headers.get("etag"), again.headers.get("cache-control")]).toEqual([304, "", tag, "private, max-age=3600"]);
    }
    expect((await organization.member("GET", PATH, { headers: { "if-none-match": '"other"' } })).text).toBe(first.text);
    expect((await (await newOrganization()).member("GET", PATH)).headers.get("etag")).toBe(tag);
  });
});
