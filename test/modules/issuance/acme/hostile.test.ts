import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { dnsNames, newDriver, newIssuer, newName, takeSteps } from "../../../support/issuance/acme";
import { type Asked, type Conduct, changed, problem, startDirectory } from "../../../support/issuance/directory";
import { newAuthority } from "../../../support/pki/authority";
import { certificate } from "../../../support/pki/certificates";

setDefaultTimeout(300_000);

const running: ReturnType<typeof startDirectory>[] = [];
afterAll(async () => {
  for (const each of running) await each.stop();
});

type Options = { config?: object; directory?: object; meta?: object; profile?: string; replaces?: string; clock?: () => Date; progress?: object };

/** What becomes of an order at a directory that behaves so, until its first failure. */
async function orderAt(conduct: Conduct, { config = {}, clock, progress, profile, replaces, ...rest }: Options = {}) {
  const directory = startDirectory(conduct, rest);
  running.push(directory);
  const issuer = newIssuer(directory, config);
  const driver = newDriver({
    ...(clock && { clock }),
    solvers: () => ({ present: async () => {}, remove: async () => {}, isVisible: async () => ({ visible: true as const }) }),
  });
  const name = newName();
  const wanted = { names: dnsNames(name), ...(profile && { profile }), ...(replaces && { replaces }), ...(progress && { progress }) };
  return { directory, driver, issuer, name, ...(await takeSteps(driver, issuer, wanted, ({ to }) => to === "retry")) };
}

const html = () => new Response("<!doctype html><title>Sign in</title>", { headers: { "content-type": "text/html" } });
const signal = new AbortController().signal;

test("an order at the directory of these tests is issued where nothing is wrong", async () => {
  const { last, directory } = await orderAt({});
  expect(last.to).toBe("issued");
  expect(directory.asked.filter(({ path }) => path === "/orders")).toHaveLength(1);
});

describe("an order fails for good", () => {
  test.each<[string, Conduct, string]>([
    ["HTML at the directory", { "/directory": html }, "The CA answered with something that is not JSON."],
    [
      "a directory without newOrder",
      { "/directory": () => Response.json({}) },
      "There is no ACME directory at directoryUrl: newNonce, newAccount or newOrder is missing.",
    ],
    ["HTML in place of an order", { "/order": html }, "The CA answered with something that is not JSON."],
    ["another thing in place of an order", { "/order": () => Response.json({ status: "pending" }) }, "The CA answered something else than an order."],
    [
      "a redirect to a private address",
      { "/orders": () => Response.redirect("http://169.254.169.254/latest/meta-data", 302) },
      "The CA answered 302, a redirect, which is not followed.",
    ],
    [
      "an address that is not https",
      { "/orders": (_, normal) => withLocation(normal(), "http://169.254.169.254/") },
      "The CA names an address that is not https.",
    ],
    ["a chain of 10 MB", { "/certificate": () => new Response("x".repeat(10_000_000)) }, "The CA answered with more than 256 KiB."],
    ["an order of 10 MB", { "/order": () => new Response("x".repeat(10_000_000)) }, "The CA answered with more than 64 KiB."],
    ["no chain", { "/certificate": () => new Response("") }, "The CA sent 0 certificates where a chain was to come."],
    [
      "a chain of something else",
      { "/certificate": () => new Response("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") },
      "The CA sent a chain that holds something which is no certificate.",
    ],
    [
      "a deactivated account",
      { "/orders": () => problem("unauthorized", 'Account is not valid, has status "deactivated"', 403) },
      'The CA does not authorize this. It says: “Account is not valid, has status "deactivated"” Give the issuer another account key.',
    ],
    [
      "an account that is registered and not valid",
      { "/account": () => Response.json({ status: "deactivated" }, { headers: { location: "https://localhost/" } }) },
      "The CA says that the account is deactivated. Give the issuer another account key.",
    ],
    [
      "words that want to be more than one line",
      { "/orders": () => problem("rejectedIdentifier", `no\u0000\r\n\u202eway ${"x".repeat(5_000)}`) },
      `The CA issues nothing for a name. It says: “no way ${"x".repeat(293)}”`,
    ],
    [
      "an error of a type that nobody knows",
      { "/orders": () => problem("teapot", "short and stout", 418) },
      "The CA answered an error of the type teapot. It says: “short and stout”",
    ],
  ])("%s", async (_, conduct, reason) => {
    const { last } = await orderAt(conduct);
    expect(last).toEqual({ to: "failed", reason });
  });

  test.each(["../../secrets", "short", "a/b/c/d/e/f/g/h/i/j/k", "x".repeat(300)])("a token %p", async (token) => {
    const conduct: Conduct = {
      "/authorization": ({ path }, normal) => changed(normal(), { challenges: [{ type: "http-01", url: `https://localhost${path}`, token }] }),
    };
    expect((await orderAt(conduct)).last).toMatchObject({ to: "failed", reason: expect.stringMatching(/^The CA's challenge for .* has no usable token\.$/) });
  });

  test("a name that was not asked for, which would be proven for another's order", async () => {
    const conduct: Conduct = { "/authorization": (_, normal) => changed(normal(), { identifier: { type: "dns", value: "www.victim.example" } }) };
    expect((await orderAt(conduct)).last).toEqual({ to: "failed", reason: "The CA wants www.victim.example proven, which was not asked for." });
  });

  test("an order that comes to no end within a day", async () => {
    let now = new Date();
    const { last } = await orderAt(
      {
        async "/order"(_, normal) {
          now = new Date(now.getTime() + 6 * 3_600_000);
          return changed(normal(), { status: "pending" });
        },
      },
      { clock: () => now },
    );
    expect(last).toEqual({ to: "failed", reason: "The CA did not come to an end with the order within a day." });
  });
});

const withLocation = async (answer: Response | Promise<Response>, location: string) => {
  const given = await answer;
  return new Response(await given.text(), { status: given.status, headers: { location } });
};

describe("an order is tried again", () => {
  test("when every nonce is rejected, after a bounded number of them", async () => {
    const { last, directory } = await orderAt({ "/orders": () => problem("badNonce") });
    expect(last).toMatchObject({ to: "retry", reason: "The CA rejects every nonce, its own newest ones too." });
    expect(directory.asked.filter(({ path }) => path === "/orders")).toHaveLength(9);
  });

  test.each([
    ["seconds", () => "90", 90],
    ["a date", (now: Date) => new Date(now.getTime() + 120_000).toUTCString(), 120],
  ])("after a rate limit, when Retry-After says so in %s; nothing else asks the issuer before", async (_, retryAfter, seconds) => {
    const now = new Date("2026-05-05T05:05:05Z");
    const { last } = await orderAt(
      { "/orders": () => problem("rateLimited", "too many new orders", 429, { "retry-after": retryAfter(now) }) },
      { clock: () => now },
    );
    expect(last).toEqual({
      to: "retry",
      at: new Date(now.getTime() + seconds * 1_000),
      reason: "A rate limit of the CA is reached. It says: “too many new orders”",
      ofIssuer: true,
    });
  });

  test("after a rate limit that names the domain, while others of the issuer go on", async () => {
    const { last } = await orderAt({
      "/orders": ({ payload }) =>
        problem("rateLimited", `too many certificates already issued for "${payload.identifiers[0].value}"`, 429, { "retry-after": "9" }),
    });
    expect(last).toMatchObject({ to: "retry", ofIssuer: false });
  });

  test.each<[string, Conduct]>([
    ["503 with Retry-After", { "/orders": () => new Response("<html>busy", { status: 503, headers: { "retry-after": "40" } }) }],
    ["an internal fault with Retry-After", { "/order": () => problem("serverInternal", "", 500, { "retry-after": "40" }) }],
  ])("after %s", async (_, conduct) => {
    const now = new Date();
    expect((await orderAt(conduct, { clock: () => now })).last).toMatchObject({ to: "retry", at: new Date(now.getTime() + 40_000), ofIssuer: true });
  });

  test("where the CA cannot be reached", async () => {
    const directory = startDirectory();
    await directory.stop();
    const issuer = newIssuer(directory);
    const { last } = await takeSteps(newDriver(), issuer, { names: dnsNames(newName()) }, ({ to }) => to === "retry");
    expect(last).toMatchObject({ to: "retry", ofIssuer: true, reason: expect.stringContaining("The CA could not be asked.") });
  });

  test("where the CA's certificate is not by the bundle", async () => {
    const { caBundlePem } = startDirectory();
    const { last } = await orderAt({}, { config: { caBundlePem } });
    expect(last).toMatchObject({ to: "retry", reason: "The CA could not be asked. Its TLS certificate is not trusted." });
  });

  test("with an order of its own, where the CA finished the one that it gave for another request", async () => {
    let orders = 0;
    const { steps } = await orderAt({
      "/orders"(_, normal) {
        orders++;
        return normal();
      },
      "/order": (_, normal) => changed(normal(), { status: "valid" }),
    });
    expect(steps.at(-1)).toMatchObject({ to: "retry", progress: {}, reason: "The order was finished for another request." });
    expect(orders).toBe(1);
  });

  test("with another order, where the CA has it no more", async () => {
    const { last } = await orderAt({ "/order": () => problem("malformed", "no such order", 404) });
    expect(last).toMatchObject({ to: "retry", progress: {} });
  });
});

describe("a step ends with its signal", () => {
  test.each<[string, () => Response]>([
    ["an answer that never begins", () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }))],
    ["an answer that never ends", () => new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("{")) }))],
  ])("at %s", async (_, answer) => {
    const reached = Promise.withResolvers<void>();
    const directory = startDirectory({
      "/directory"() {
        reached.resolve();
        return answer();
      },
    });
    running.push(directory);
    const issuer = newIssuer(directory);
    const ending = new AbortController();
    const testing = newDriver().test(issuer, ending.signal);
    await reached.promise;
    ending.abort(new Error("the time is up"));
    expect(testing).rejects.toThrow("the time is up");
  });
});

test("a directory at a private address is refused unless such are allowed", async () => {
  const directory = startDirectory();
  running.push(directory);
  const issuer = newIssuer(directory);
  const reason = "The CA could not be asked. Its host name leads to a private, local or reserved address.";
  expect(await newDriver({ allowPrivate: false }).test(issuer, signal)).toEqual({ outcome: "failed", message: reason });
  expect(directory.asked).toEqual([]);
});

describe("what a newer CA knows", () => {
  const meta = { profiles: { classic: "the usual", shortlived: "six days" } };
  const payloadOf = ({ directory }: { directory: ReturnType<typeof startDirectory> }) => directory.asked.findLast(({ path }) => path === "/orders")?.payload;

  test("a profile is asked for: the request's, or else the issuer's", async () => {
    expect(payloadOf(await orderAt({}, { meta, profile: "shortlived", config: { profile: "classic" } }))).toMatchObject({ profile: "shortlived" });
    expect(payloadOf(await orderAt({}, { meta, config: { profile: "classic" } }))).toMatchObject({ profile: "classic" });
    expect(payloadOf(await orderAt({}, { meta }))).not.toHaveProperty("profile");
    expect((await orderAt({}, { meta, profile: "long" })).last).toEqual({ to: "failed", reason: "The CA has no profile long; it has classic, shortlived." });
  });

  // RFC 9773, 4.1: the example certificate's id, of which these are the parts.
  test("a renewal names its predecessor; where that was replaced before, the order goes on without", async () => {
    const authority = await newAuthority();
    const { pem } = await authority.issueServer("a.example");
    authority.remove();
    const directory = { renewalInfo: "https://localhost/renewal-info" };
    const { replaces } = payloadOf(await orderAt({}, { directory, replaces: pem }));
    expect(replaces).toMatch(/^[\w-]{27}\.[\w-]{2,}$/);
    expect(payloadOf(await orderAt({}, { replaces: pem }))).not.toHaveProperty("replaces");
    const again = await orderAt(
      { "/orders": ({ payload }, normal) => (payload.replaces ? problem("alreadyReplaced", "", 409) : normal()) },
      { directory, replaces: pem },
    );
    expect(again.last).toMatchObject({ to: "issued" });
    expect(payloadOf(again)).not.toHaveProperty("replaces");
  });
});

describe("the renewal information (RFC 9773) of a directory of these tests: no CA that can run here has it", () => {
  // The certificate of RFC 9773, appendix A, and what it is called.
  const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
`;
  const ID = "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE";
  const now = new Date("2026-05-05T05:05:05.000Z");

  function windowAt(answer: () => Response) {
    const directory = startDirectory({
      "/directory": (_, normal) => changed(normal(), { renewalInfo: `${url}/info` }),
      [`/info/${ID}`]: answer,
    });
    const { url } = directory;
    running.push(directory);
    const issuer = newIssuer(directory);
    return newDriver({ clock: () => now }).findRenewalWindow(issuer, CERTIFICATE, signal);
  }

  test.each([
    ["7200", 7_200_000],
    ["1", 60_000],
    ["9999999", 86_400_000],
    ["soon", 21_600_000],
  ])("returns the window, and when to ask again: Retry-After %s", async (retryAfter, wait) => {
    const suggestedWindow = { start: "2026-05-01T00:00:00Z", end: "2026-05-02T00:00:00Z" };
    const info = { suggestedWindow, explanationURL: "https://ca.example/incident" };
    expect(await windowAt(() => Response.json(info, { headers: { "retry-after": retryAfter } }))).toEqual({
      start: new Date(suggestedWindow.start),
      end: new Date(suggestedWindow.end),
      explanationUrl: "https://ca.example/incident",
      askAgainAt: new Date(now.getTime() + wait),
    });
  });

  test.each([
    {},
    { suggestedWindow: { start: "2026-05-02T00:00:00Z", end: "2026-05-01T00:00:00Z" } },
    { suggestedWindow: { start: "soon", end: "later" } },
    { suggestedWindow: { start: "2026-02-30T00:00:00Z", end: "2026-05-01T00:00:00Z" } },
    { suggestedWindow: { start: 1, end: "2026-05-01T00:00:00Z" } },
  ])("%j is no window", async (info) => {
    await expect(windowAt(() => Response.json(info))).rejects.toThrow("has no window that begins before it ends");
  });
});

describe("a revocation", () => {
  const revokeAt = async (conduct: Conduct, rest: object = { revokeCert: "/revoke" }) => {
    const directory = startDirectory(conduct, { directory: rest });
    running.push(directory);
    const { pem } = certificate({ issuer: directory.authority });
    const revoked = await newDriver().revoke(newIssuer(directory), { pem, reason: "cACompromise" }, signal);
    return { revoked, reasons: directory.asked.filter(({ path }) => path === "/revoke").map(({ payload }) => payload.reason) };
  };

  test("is asked without its reason where the CA does not take that", async () => {
    const takesNone = ({ payload }: Asked) => ("reason" in payload ? problem("badRevocationReason") : new Response(null));
    expect(await revokeAt({ "/revoke": takesNone })).toEqual({ revoked: { to: "revoked" }, reasons: [2, undefined] });
  });

  test.each<[string, Conduct, object | undefined, object]>([
    ["the CA revokes nothing", {}, {}, { to: "failed", reason: "The CA revokes no certificates." }],
    [
      "the certificate is another account's",
      { "/revoke": () => problem("unauthorized", "", 403) },
      undefined,
      { to: "failed", reason: "The CA does not authorize this." },
    ],
    ["the CA is away", { "/revoke": () => new Response("", { status: 503 }) }, undefined, { to: "retry", ofIssuer: true }],
  ])("fails where %s", async (_, conduct, rest, outcome) => {
    expect((await revokeAt(conduct, rest)).revoked).toMatchObject(outcome);
  });
});
