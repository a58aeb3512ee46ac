import { describe, expect, test } from "bun:test";
import { CATALOGUE, PROVIDERS, type ProviderKey, providerOf } from "#modules/issuance/dns/rules/providers";
import { readDnsSettings } from "#modules/issuance/dns/rules/settings";
import { defaults, wrongValuesOf } from "../../../support/openapi/fields";

/** What each provider needs at least. */
const MINIMAL: Record<ProviderKey, { config: Record<string, unknown>; secrets: Record<string, unknown> }> = {
  rfc2136: { config: { server: "ns1.example.com", keyName: "acme.example.com" }, secrets: { tsigSecret: btoa("x".repeat(32)) } },
  "acme-dns": {
    config: { apiBaseUrl: "https://auth.example.com", subdomain: "d160cf10", fullDomain: "d160cf10.auth.example.com", username: "b824ed2e" },
    secrets: { acmeDnsPassword: "password" },
  },
  httpreq: { config: { apiBaseUrl: "https://dns.example.com" }, secrets: {} },
  cloudflare: { config: {}, secrets: { cloudflareApiToken: "token" } },
  route53: { config: { accessKeyId: "AKIDEXAMPLE" }, secrets: { awsSecretAccessKey: "secret" } },
};

const read = (provider: ProviderKey, config: Record<string, unknown> = {}, secrets: Record<string, unknown> = {}, allowPrivate = false) => {
  const given = { provider, config: { ...MINIMAL[provider].config, ...config }, secrets: { ...MINIMAL[provider].secrets, ...secrets } };
  return readDnsSettings(given, { allowPrivate, configAt: "body.config.challenges[0].config", secretsAt: "body.secrets" });
};

describe.each([...PROVIDERS])("the settings of %s", (provider) => {
  const { configFields, secretFields } = providerOf(provider);

  test("are taken where they are complete, with defaults in place", () => {
    const { config, secrets } = MINIMAL[provider];
    expect(read(provider)).toEqual({ provider, config: { ...defaults(configFields), ...config }, secrets });
  });

  test.each([
    ["config", configFields, "body.config.challenges[0].config"],
    ["secrets", secretFields, "body.secrets"],
  ] as const)("are refused where one of %s is wrong, or required and missing; it is named", (part, fields, at) => {
    const of = (name: string, value: unknown) => (part === "config" ? read(provider, { [name]: value }) : read(provider, {}, { [name]: value }));
    for (const field of fields) {
      for (const wrong of wrongValuesOf(field)) expect(of(field.name, wrong)).toMatchObject({ invalid: expect.stringContaining(`${at}.${field.name} `) });
    }
    for (const { name } of fields.filter((each) => each.required && each.default === undefined)) {
      expect(of(name, undefined)).toEqual({ invalid: `${at}.${name} is required for ${provider}.` });
    }
  });

  test("know no field of another one, and leave other secrets of the issuer alone", () => {
    expect(read(provider, { zone: "x" })).toEqual({ invalid: `body.config.challenges[0].config.zone is not a known field of ${provider}.` });
    expect(read(provider, {}, { accountKeyPem: "x" })).toEqual(read(provider));
  });
});

describe("the settings of an issuer's DNS", () => {
  test.each([
    [
      "server",
      ["ns1.example.com:5353", "192.0.2.1", "2001:db8::1", "[2001:db8::1]:53"],
      ["ns1.example.com:0", "ns1.example.com:70000", "a:b:c", "http://ns1", "[ns1]", "ns 1", "u@ns1"],
    ],
    ["resolvers", [["9.9.9.9", "[2620:fe::fe]:53"], []], [["dns.example.com"], ["1.2.3"], ["9.9.9.9:0"], Array(17).fill("9.9.9.9")]],
    ["nameservers", [["9.9.9.9"]], [["ns1.example.com"]]],
    ["keyName", ["acme.example.com.", "KEY"], ["a b", "a..b", "é"]],
  ] as const)("take %s as %j, and not as %j", (name, good, bad) => {
    for (const value of good) expect(read("rfc2136", { [name]: value }, {}, true)).not.toHaveProperty("invalid");
    for (const value of bad) expect(read("rfc2136", { [name]: value }, {}, true)).toMatchObject({ invalid: expect.stringContaining(`.${name} must `) });
  });

  test("take private addresses only where they are allowed", () => {
    for (const config of [{ server: "127.0.0.1:5353" }, { server: "ns1" }, { resolvers: ["10.0.0.1"] }, { nameservers: ["[::1]:53"] }]) {
      expect(read("rfc2136", config)).toEqual({ invalid: expect.stringContaining("must not point to a private, local or reserved address.") });
      expect(read("rfc2136", config, {}, true)).not.toHaveProperty("invalid");
    }
    expect(read("httpreq", { apiBaseUrl: "http://127.0.0.1:9000" })).toHaveProperty("invalid");
    expect(read("httpreq", { apiBaseUrl: "http://127.0.0.1:9000" }, {}, true)).not.toHaveProperty("invalid");
  });

  test("take a TSIG secret as base64 of 128 bits at least", () => {
    for (const secret of ["short", "!".repeat(44), btoa("x".repeat(15))]) {
      expect(read("rfc2136", {}, { tsigSecret: secret })).toEqual({ invalid: "body.secrets.tsigSecret must be base64 of at least 128 bits." });
    }
    expect(read("rfc2136", {}, { tsigSecret: btoa("x".repeat(16)) })).not.toHaveProperty("invalid");
  });
});

test("no two providers share the name of a secret, and what was not tried against the service is marked", () => {
  const names = CATALOGUE.flatMap(({ secretFields }) => secretFields.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
  expect(CATALOGUE.filter(({ isExperimental }) => isExperimental).map(({ key }) => key)).toEqual(["acme-dns", "httpreq", "cloudflare", "route53"]);
});
