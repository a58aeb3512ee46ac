import { describe, expect, test } from "bun:test";
import { hostFault, isPublicAddress } from "#outbound/address-policy";
import { lookupFor } from "#outbound/lookup";
import { privateWorld } from "../../../support/server/connections";
import { newOrganization } from "../../../support/server/people";

const FAULT = "must not point to a private, local or reserved address";

const PRIVATE = [
  ...["http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://0177.0.0.1/", "http://017700000001/"],
  ...["http://0/", "http://0.0.0.0:8080/", "http://10.0.0.1/", "http://10.255.255.254/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/"],
  ...["http://169.254.169.254/latest/meta-data/", "http://0xa9fea9fe/", "http://2852039166/", "http://0251.0376.0251.0376/", "http://168.63.129.16/"],
  ...["http://100.64.0.1/", "http://100.100.100.200/", "http://192.0.0.192/", "http://198.18.0.1/", "http://192.0.2.1/", "http://224.0.0.1/"],
  ...["http://239.255.255.250/", "http://240.0.0.1/", "http://255.255.255.255/"],
  ...[
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:169.254.169.254]/",
  ],
  ...["http://[::ffff:10.0.0.1]/", "http://[::127.0.0.1]/", "http://[::ffff:0:127.0.0.1]/", "http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b:1::1]/"],
  ...["http://[2002:7f00:1::]/", "http://[2001::1]/", "http://[2001:db8::1]/", "http://[3fff::1]/", "http://[5f00::1]/"],
  ...["http://[fc00::1]/", "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://[100::1]/"],
  ...["http://localhost/", "http://LOCALHOST:3000/", "http://localhost./", "http://a.localhost/", "http://metadata.google.internal/", "http://db.internal./"],
  ...["http://printer.local/", "http://intranet/", "http://kubernetes/", "http://nas.lan/", "http://router.home.arpa/", "http://host.localdomain/"],
  ...[
    "http://１２７.0.0.1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://%6c%6f%63%61%6c%68%6f%73%74/",
    "http://loc%61lhost/",
    "http://%31%32%37.0.0.1/",
  ],
];

const PUBLIC = [
  ...["https://8.8.8.8/", "https://172.32.0.1/", "https://100.128.0.1/", "https://1.1/", "https://[2606:4700:4700::1111]/", "https://[::ffff:8.8.8.8]/"],
  ...["https://service.example/", "https://localhost.example/", "https://internal.example/", "https://notlocal.example/", "https://münchen.example/"],
];

describe("a connection", () => {
  test.each(PRIVATE)("may not point to %s", (url) => {
    expect(hostFault(new URL(url).hostname)).toBe(FAULT);
  });

  test.each(PUBLIC)("may point to %s", (url) => {
    expect(hostFault(new URL(url).hostname)).toBeUndefined();
  });

  test("may point to no address but a public one, however a look-up writes it", () => {
    for (const address of ["127.0.0.1", "::ffff:127.0.0.1", "fe80::1%eth0", "", "nonsense", "10.1"]) expect(isPublicAddress(address)).toBe(false);
    expect(isPublicAddress("93.184.215.14")).toBe(true);
  });

  test.each([{ all: true }, { all: false }])("may not point to a name that leads to this machine, looked up with %j", async (options) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    lookupFor({ allowPrivate: false })("localhost", options, resolve);
    expect(await promise).toMatchObject({ code: "PRIVATE_TARGET" });
  });
});

describe("POST /organizations/{organizationId}/core/connections", () => {
  const webhook = (url: string) => ({ kind: "webhook", name: crypto.randomUUID(), config: { url } });

  test("400 for every such address in a config, 201 where private targets are allowed", async () => {
    const organization = await newOrganization();
    for (const url of PRIVATE) {
      const refused = await organization.admin("POST", "/core/connections", { body: webhook(url) });
      expect({ url, status: refused.status, message: refused.body.message }).toEqual({ url, status: 400, message: `body.config.url ${FAULT}.` });
      expect((await organization.admin("POST", "/core/connections", { body: webhook(url), url: privateWorld.url })).status).toBe(201);
    }
    for (const url of PUBLIC) expect((await organization.admin("POST", "/core/connections", { body: webhook(url) })).status).toBe(201);
  });

  test("400 for such an address among the secrets, in a bare host, and in a change", async () => {
    const organization = await newOrganization();
    const teams = { kind: "microsoft_teams", name: "x", secrets: { webhookUrl: "http://169.254.169.254/s3cr3t" } };
    const refused = await organization.admin("POST", "/core/connections", { body: teams });
    expect(refused).toMatchObject({ status: 400, body: { message: `body.secrets.webhookUrl ${FAULT}.` } });
    for (const host of ["127.0.0.1", "[::1]", "localhost", "0x7f.1"])
      expect(
        await organization.admin("POST", "/core/connections", { body: { kind: "smtp", name: host, config: { host, fromAddress: "a@b.example" } } }),
      ).toMatchObject({ status: 400, body: { message: `body.config.host ${FAULT}.` } });
    const { body } = await organization.admin("POST", "/core/connections", { body: webhook("https://service.example/") });
    expect((await organization.admin("PATCH", `/core/connections/${body.id}`, { body: { config: { url: "http://127.0.0.1/" } } })).status).toBe(400);
  });

  test.each([
    ["https://user:password@service.example/", "must not hold a user name or password"],
    ["https://user@service.example/", "must not hold a user name or password"],
    ["ftp://service.example/", "must be an absolute URL that starts with https:// or http://"],
    ["javascript:alert(1)", "must be an absolute URL that starts with https:// or http://"],
    ["//service.example/", "must be an absolute URL that starts with https:// or http://"],
    ["service.example", "must be an absolute URL that starts with https:// or http://"],
    ["https://service.example/\\@127.0.0.1/", "must be an absolute URL that starts with https:// or http://"],
    ["https://ser\nvice.example/", "must be an absolute URL that starts with https:// or http://"],
    ["https://[::1/", "must be an absolute URL that starts with https:// or http://"],
    ["https://256.1.1.1/", "must be an absolute URL that starts with https:// or http://"],
  ])("400 for the address %j, also where private targets are allowed", async (url, fault) => {
    const organization = await newOrganization();
    for (const server of [undefined, privateWorld.url])
      expect(await organization.admin("POST", "/core/connections", { body: webhook(url), ...(server && { url: server }) })).toMatchObject({
        status: 400,
        body: { message: `body.config.url ${fault}.` },
      });
  });
});
