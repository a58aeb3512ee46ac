import { expect } from "bun:test";
import type { DnsFault } from "#modules/issuance/dns/rules/fault";
import { PROVIDERS, type ProviderKey } from "#modules/issuance/dns/rules/providers";
import { readDnsSettings } from "#modules/issuance/dns/rules/settings";
import { createDnsSolver } from "#modules/issuance/dns/services/solver";
import { endBinds } from "../../../support/issuance/bind";
import { CREDENTIALS, startRoute53 } from "../../../support/issuance/route53";
import { startZones, type Zones } from "../../../support/issuance/zones";
import { needing } from "../../../support/needing";
import { startTarget } from "../../../support/server/target";

const { afterAll, afterEach, beforeAll, describe, test } = needing("named", "rndc");

let zones: Zones;
beforeAll(async () => {
  zones = await startZones();
});
afterAll(async () => {
  await zones?.stop();
  endBinds();
});
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const never = new AbortController().signal;
const PROOF = { name: "_acme-challenge.www.example.test", value: "v4lue" };
const SECRETS = { acmeDnsPassword: "p4ssword", cloudflareApiToken: "t0ken", awsSecretAccessKey: CREDENTIALS.secret, httpreqPassword: "pässword" };
const CONFIGS: Record<ProviderKey, Record<string, unknown>> = {
  rfc2136: {},
  "acme-dns": { subdomain: "d160cf10", fullDomain: "www.locked.example.test", username: "b824ed2e" },
  httpreq: {},
  cloudflare: {},
  route53: { accessKeyId: CREDENTIALS.accessKeyId },
};

function solverOf(provider: ProviderKey, url: string, config: Record<string, unknown> = {}) {
  const given = { provider, config: { ...CONFIGS[provider], resolvers: [zones.server], apiBaseUrl: url, ...config }, secrets: SECRETS };
  const read = readDnsSettings(given, { allowPrivate: true, configAt: "config", secretsAt: "secrets" });
  if ("invalid" in read) throw new Error(read.invalid);
  return createDnsSolver({ ...read, allowPrivate: true, nameserverPort: zones.port });
}

function start(...given: Parameters<typeof startTarget>) {
  const target = startTarget(...given);
  stops.push(target.stop);
  return target;
}
const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => "no fault",
    ({ message, isFinal, retryAfterMs }: DnsFault) => ({ message, isFinal, ...(retryAfterMs !== undefined && { retryAfterMs }) }),
  );

describe("the API acme-dns", () => {
  test("is given the value of its registration", async () => {
    const target = start(() => Response.json({ txt: PROOF.value }));
    await solverOf("acme-dns", `${target.url}/api/`).present({ ...PROOF, name: "_acme-challenge.www.locked.test" }, never);
    expect(target.requests).toEqual([
      {
        method: "POST",
        path: "/api/update",
        headers: expect.objectContaining({ "x-api-user": "b824ed2e", "x-api-key": "p4ssword", "content-type": "application/json" }),
        body: '{"subdomain":"d160cf10","txt":"v4lue"}',
      },
    ]);
    await solverOf("acme-dns", target.url).remove({ ...PROOF, name: "_acme-challenge.www.locked.test" }, never);
    expect(target.requests).toHaveLength(1);
  });

  test("is asked nothing of a name that leads elsewhere, or nowhere", async () => {
    const target = start(() => new Response());
    for (const [name, leads] of [
      [PROOF.name, "nothing"],
      ["_acme-challenge.far.locked.test", "far.example.test"],
    ] as const) {
      expect(await faultOf(solverOf("acme-dns", target.url).present({ ...PROOF, name }, never))).toEqual({
        message: `${name} must lead by CNAME to www.locked.example.test, but leads to ${leads}.`,
        isFinal: true,
      });
    }
    expect(target.requests).toEqual([]);
  });
});

describe("the API httpreq", () => {
  test("is sent the name, where it leads, and the value", async () => {
    const target = start(() => new Response());
    const solver = solverOf("httpreq", `${target.url}/dns`);
    await solver.present({ ...PROOF, name: "_acme-challenge.far.locked.test" }, never);
    await solver.remove(PROOF, never);
    expect(target.requests.map(({ method, path, body }) => [method, path, body])).toEqual([
      ["POST", "/dns/present", '{"fqdn":"far.example.test.","value":"v4lue"}'],
      ["POST", "/dns/cleanup", '{"fqdn":"_acme-challenge.www.example.test.","value":"v4lue"}'],
    ]);
    expect(target.requests.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  });

  test("in RAW mode is sent domain, token and key authorization, with basic authentication", async () => {
    const target = start(() => new Response());
    const solver = solverOf("httpreq", target.url, { mode: "RAW", username: "certitude" });
    await solver.present({ ...PROOF, token: "t", keyAuthorization: "t.k" }, never);
    const [{ body, headers } = { body: "", headers: {} as Record<string, string> }] = target.requests;
    expect(body).toBe('{"domain":"www.example.test","token":"t","keyAuth":"t.k"}');
    expect(headers.authorization).toBe(`Basic ${Buffer.from("certitude:pässword").toString("base64")}`);
    expect(await faultOf(solver.present(PROOF, never))).toMatchObject({ message: expect.stringContaining("needs the token"), isFinal: true });
  });
});

/** Cloudflare's DNS records by its API reference, of one zone in memory. */
function startCloudflare() {
  const records: { id: string; name: string; type: string; content: string }[] = [];
  const fail = (status: number, code: number) => Response.json({ success: false, errors: [{ code, message: "m" }], messages: [], result: null }, { status });
  const ok = (result: unknown) => Response.json({ success: true, errors: [], messages: [], result });
  const target = start((request, index) => {
    const { pathname, searchParams } = new URL(request.url);
    if (request.headers.get("authorization") !== "Bearer t0ken") return fail(403, 9109);
    if (pathname === "/client/v4/zones") return ok([{ id: "z1", name: "example.test" }].filter(({ name }) => name === searchParams.get("name")));
    const [, id] = /^\/client\/v4\/zones\/z1\/dns_records(?:\/(\w+))?$/.exec(pathname) ?? [];
    if (request.method === "GET") return ok(records.filter(({ name, type }) => name === searchParams.get("name") && type === searchParams.get("type")));
    if (request.method === "DELETE") {
      const at = records.findIndex((each) => each.id === id);
      if (at < 0) return fail(404, 81044);
      records.splice(at, 1);
      return ok({ id });
    }
    const { name, type, content } = JSON.parse(target.requests[index]?.body ?? "");
    if (records.some((each) => each.name === name && each.content === content)) return fail(400, 81058);
    records.push({ id: `r${index}`, name, type, content });
    return ok({ id: `r${index}` });
  });
  return { ...target, url: `${target.url}/client/v4`, records };
}

describe("the API of Cloudflare", () => {
  test("has a record for each value, once; one that is removed leaves the others", async () => {
    const { url, records } = startCloudflare();
    const solver = solverOf("cloudflare", url);
    await solver.present(PROOF, never);
    await solver.present(PROOF, never);
    await solver.present({ ...PROOF, value: "other" }, never);
    expect(records.map(({ name, type, content }) => [name, type, content])).toEqual([
      [PROOF.name, "TXT", '"v4lue"'],
      [PROOF.name, "TXT", '"other"'],
    ]);
    await solver.remove(PROOF, never);
    await solver.remove(PROOF, never);
    expect(records.map(({ content }) => content)).toEqual(['"other"']);
  });

  test("is asked for no zone where its id is given", async () => {
    const { url, requests } = startCloudflare();
    await solverOf("cloudflare", url, { zoneId: "z1" }).present(PROOF, never);
    expect(requests.map(({ method, path }) => [method, path])).toEqual([["POST", "/client/v4/zones/z1/dns_records"]]);
  });

  test("without the zone answers so", async () => {
    const { url } = startCloudflare();
    expect(await faultOf(solverOf("cloudflare", url).present({ ...PROOF, name: "_acme-challenge.lagging.test" }, never))).toEqual({
      message: "The API token sees no zone lagging.test at Cloudflare.",
      isFinal: true,
    });
  });
});

describe("the API of Route 53", () => {
  test("has all values in one set; what is removed leaves the others, and the last one takes the set away", async () => {
    const route53 = startRoute53("example.test");
    stops.push(route53.stop);
    const solver = solverOf("route53", route53.url);
    const values = ["a", "b", "c", "d"];
    await solver.present({ ...PROOF, value: "a" }, never);
    await Promise.all(values.map((value) => solver.present({ ...PROOF, value }, never)));
    expect(route53.valuesOf(PROOF.name)).toEqual(values);
    for (const [at, value] of values.entries()) {
      await solver.remove({ ...PROOF, value }, never);
      await solver.remove({ ...PROOF, value }, never);
      expect(route53.valuesOf(PROOF.name)).toEqual(values.slice(at + 1));
    }
  });

  test("with another secret, or without the zone, answers so", async () => {
    const route53 = startRoute53("example.test");
    stops.push(route53.stop);
    const other = solverOf("route53", route53.url, { accessKeyId: "ANOTHER" });
    expect(await faultOf(other.present(PROOF, never))).toEqual({ message: "Route 53 answered 403: it does not accept the credentials.", isFinal: true });
    expect(await faultOf(solverOf("route53", route53.url).present({ ...PROOF, name: "_acme-challenge.lagging.test" }, never))).toEqual({
      message: "The access key sees no public hosted zone lagging.test at Route 53.",
      isFinal: true,
    });
  });
});

describe.each(PROVIDERS.filter((each) => each !== "rfc2136"))("the API of %s", (provider) => {
  const proof = { ...PROOF, name: "_acme-challenge.www.locked.test" };
  const label = { "acme-dns": "acme-dns", httpreq: "The httpreq server", cloudflare: "Cloudflare", route53: "Route 53", rfc2136: "" }[provider];
  const zone = provider === "cloudflare" ? { zoneId: "z" } : provider === "route53" ? { hostedZoneId: "Z" } : {};

  test.each([
    [401, {}, { message: `${label} answered 401: it does not accept the credentials.`, isFinal: true }],
    [429, { "retry-after": "60" }, { message: `${label} answered 429: it takes no more for now.`, isFinal: false, retryAfterMs: 60_000 }],
    [503, {}, { message: `${label} answered 503.`, isFinal: false }],
    [302, { location: "http://127.0.0.1:1/" }, { message: `${label} answered 302, a redirect, which is not followed.`, isFinal: false }],
  ])("that answers %d", async (status, headers, fault) => {
    const target = start(() => new Response("p4ssword t0ken", { status, headers }));
    expect(await faultOf(solverOf(provider, target.url, zone).present(proof, never))).toEqual(fault);
    expect(target.requests).toHaveLength(1);
  });

  test("that is away, or answers too much, or never", async () => {
    const gone = startTarget(() => new Response());
    await gone.stop();
    expect(await faultOf(solverOf(provider, gone.url, zone).present(proof, never))).toEqual({ message: `${label} refused the connection.`, isFinal: false });
    const wordy = start(() => new Response("x".repeat(70_000)));
    expect(await faultOf(solverOf(provider, wordy.url, zone).present(proof, never))).toEqual({
      message: `${label} answered with more than 64 KiB.`,
      isFinal: false,
    });
    const silent = start(() => new Promise(() => {}));
    expect(await faultOf(solverOf(provider, silent.url, zone).present(proof, AbortSignal.timeout(500)))).toEqual({
      message: `${label} did not answer in time.`,
      isFinal: false,
    });
  });
});
