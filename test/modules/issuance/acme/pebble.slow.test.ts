import { expect, setDefaultTimeout } from "bun:test";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import type { Ordered, Proof } from "#modules/issuance/acme/rules/progress";
import type { Solvers } from "#modules/issuance/acme/services/solvers";
import type { OpenIssuer, Step } from "#modules/issuance/issuing/rules/driver";
import { dnsNames, keepInMemory, nameFor, newAccountKey, newCsr, newDriver, newIssuer, newName, takeSteps } from "../../../support/issuance/acme";
import { type Pebble, type PebbleOptions, startPebble } from "../../../support/issuance/pebble";
import { needing } from "../../../support/needing";
import { startProxy } from "../../../support/server/proxy";
import { world } from "../../../support/server/world";

const { afterAll, beforeAll, describe, test } = needing("pebble");

setDefaultTimeout(300_000);

const httpPort = Number(new URL(world.url).port);
const signal = new AbortController().signal;
const running: Pebble[] = [];
async function start(options: PebbleOptions = {}) {
  const pebble = await startPebble({ httpPort, ...options });
  running.push(pebble);
  return pebble;
}
let pebble: Pebble;
beforeAll(async () => {
  pebble = await start();
});
afterAll(() => Promise.all(running.map((each) => each.stop())));

const chainOf = (step: Step) => {
  if (step.to !== "issued") throw new Error(`it came to ${JSON.stringify(step)}`);
  return step.chainPem
    .split(/(?<=-----END CERTIFICATE-----\n)/)
    .filter(Boolean)
    .map((pem) => new X509Certificate(pem));
};
const readProofs = ({ progress }: { progress?: object }) => (progress as Partial<Ordered> | undefined)?.proofs ?? [];
const reasonOf = (step: Step) => ("reason" in step ? step.reason : undefined);
/** The step waits for a proof that its solver does not see. */
const isHidden = (step: Step) => reasonOf(step)?.endsWith("It is not shown.") ?? false;

describe("an order", () => {
  test("is proven by http-01 at this server, issued, and leaves no answer behind", async () => {
    const issuer = newIssuer(pebble);
    const driver = newDriver();
    const names = dnsNames(newName(), newName());
    const { csr, privateKey } = newCsr(names);
    const { last, steps, issuing } = await takeSteps(driver, issuer, { names, csr });
    const [leaf, intermediate] = chainOf(last);
    expect(leaf?.checkPrivateKey(privateKey)).toBe(true);
    expect(leaf?.subjectAltName?.split(", ").sort()).toEqual(names.map(({ value }) => `DNS:${value}`).sort());
    expect(intermediate && leaf?.checkIssued(intermediate)).toBe(true);
    expect(steps.map(({ to }) => to)).not.toContain("retry");
    const answers = () => world.sql`select from acme_http_answers where request_id = ${issuing.requestId}`;
    expect(await answers()).toHaveLength(2);
    await driver.end(issuer, issuing, signal);
    expect(await answers()).toHaveLength(0);
    expect(issuer.account).toMatchObject({ url: expect.stringContaining("https://localhost"), contact: [] });
  });

  test("is proven for an IP address", async () => {
    const issuer = newIssuer(pebble);
    await nameFor(issuer, "127.0.0.1");
    const { last } = await takeSteps(newDriver(), issuer, { names: [{ type: "ip", value: "127.0.0.1" }] });
    expect(chainOf(last)[0]?.subjectAltName).toBe("IP Address:127.0.0.1");
  });

  test("goes on where half of all nonces are rejected", async () => {
    const issuer = newIssuer(await start({ rejectedNonces: 50 }));
    const { last } = await takeSteps(newDriver(), issuer, { names: dnsNames(newName()) });
    expect(chainOf(last)).toHaveLength(2);
  });

  test("needs no proof for names that the CA has validated before", async () => {
    const issuer = newIssuer(await start({ reusedAuthorizations: 100 }));
    const driver = newDriver();
    const names = dnsNames(newName());
    await takeSteps(driver, issuer, { names });
    const { last, issuing } = await takeSteps(driver, issuer, { names });
    expect(chainOf(last)).toHaveLength(2);
    expect(issuing.progress).not.toHaveProperty("proofs.0");
  });

  test("fails with the CA's words for each name where nothing answers", async () => {
    const issuer = newIssuer(await start({ httpPort: 1 }));
    const name = newName();
    const { last } = await takeSteps(newDriver(), issuer, { names: dnsNames(name) });
    expect(last.to).toBe("failed");
    expect(reasonOf(last)).toContain(`${name} by http-01: The CA could not connect to the host that it validates.`);
  });

  test("fails where a wildcard is to be proven and the issuer has http-01 alone", async () => {
    const issuer = newIssuer(pebble);
    const name = newName();
    const { last } = await takeSteps(newDriver(), issuer, { names: dnsNames(`*.${name}`) });
    expect(last).toEqual({ to: "failed", reason: `*.${name}: the CA offers dns-01, and the issuer has http-01.` });
  });

  test("fails where the CSR has other names", async () => {
    const issuer = newIssuer(pebble);
    const { last } = await takeSteps(newDriver(), issuer, { names: dnsNames(newName()), csr: newCsr(dnsNames(newName())).csr });
    expect(last.to).toBe("failed");
  });

  test("fails where a profile is asked for and the CA has none", async () => {
    const issuer = newIssuer(pebble);
    const { last } = await takeSteps(newDriver(), issuer, { names: dnsNames(newName()), profile: "shortlived" });
    expect(last).toEqual({ to: "failed", reason: "The CA has no profiles, so none called shortlived." });
  });
});

describe("an order that the CA gave up", () => {
  /** A CA whose questions by http-01 reach this server while `door` is open; and a request whose proof the CA has looked at in vain. */
  async function gaveUp() {
    const door = await startProxy({ host: "127.0.0.1", port: httpPort });
    const issuer = newIssuer(await start({ httpPort: door.port }));
    await door.refuse();
    const former = newDriver();
    const { issuing } = await takeSteps(former, issuer, { names: dnsNames(newName()) }, (step) => readProofs(step as object)[0]?.state === "told");
    const { orderUrl } = issuing.progress as Ordered;
    return { door, issuer, former, issuing, orderUrl };
  }

  test("while the server that was to show the proof restarted is ordered again, and issued", async () => {
    const { door, issuer, issuing, orderUrl } = await gaveUp();
    const restarted = newDriver();
    const { last: given, issuing: next } = await takeSteps(restarted, issuer, issuing, ({ to }) => to === "retry");
    expect(reasonOf(given)).toMatch(
      /^The server that had the CA look at the proofs was restarted, so another order is made\. The CA gave the order up\. .*could not connect/,
    );
    await door.accept();
    const again: string[] = [];
    const { last } = await takeSteps(restarted, issuer, next, (step) => {
      if ("progress" in step && step.progress && "orderUrl" in step.progress) again.push(String(step.progress.orderUrl));
      return false;
    });
    expect(chainOf(last)).toHaveLength(2);
    expect(new Set(again).size).toBe(1);
    expect(again).not.toContain(orderUrl);
    await door.stop();
  });

  test("fails where the server that had the CA look has shown the proof all the time", async () => {
    const { door, issuer, former, issuing } = await gaveUp();
    expect((await takeSteps(former, issuer, issuing)).last.to).toBe("failed");
    await door.stop();
  });

  test("again and again fails in the end, whatever restarts meanwhile", async () => {
    const { door, issuer, issuing } = await gaveUp();
    const tos: string[] = [];
    for (let next = issuing; tos.at(-1) !== "failed"; ) {
      const taken = await takeSteps(newDriver(), issuer, next, (step) => step.to === "retry" || readProofs(step as object)[0]?.state === "told");
      next = taken.issuing;
      if (taken.last.to === "retry" || taken.last.to === "failed") tos.push(taken.last.to);
    }
    expect(tos).toEqual(["retry", "retry", "retry", "failed"]);
    await door.stop();
  });
});

describe("a proof by dns-01", () => {
  test("is one of a wildcard beside its domain, once the records can be seen", async () => {
    const issuer = newIssuer(pebble, { challenges: [{ type: "http-01" }, { type: "dns-01" }] });
    const name = newName();
    const shown: string[] = [];
    let looks = 0;
    const driver = newDriver({
      solvers: () => ({
        present: async (proof) => void shown.push(proof.token),
        remove: async () => {},
        isVisible: async () => (++looks > 2 ? { visible: true } : { visible: false, reason: "ns1.example does not show it." }),
      }),
    });
    const { last, steps } = await takeSteps(driver, issuer, { names: dnsNames(`*.${name}`) }, ({ to }) => to === "retry");
    expect(shown).toHaveLength(1);
    expect(steps.map(reasonOf)).toContain(`The proof for ${name} cannot be seen yet. ns1.example does not show it.`);
    // The CA sees no record: what it found is said.
    expect(reasonOf(last)).toContain(`${name} by dns-01: `);
  });

  test("is taken away where it was presented, wherever the name leads by then", async () => {
    const issuer = newIssuer(pebble, { challenges: [{ type: "dns-01" }] });
    const places: string[] = [];
    let located = 0;
    const note = (what: string) => async (proof: Proof) => void places.push(`${what} at ${proof.target}`);
    const driver = newDriver({
      solvers: () => ({
        locate: async () => `place-${++located}.example`,
        present: note("presented"),
        remove: note("removed"),
        isVisible: async () => ({ visible: false, reason: "It is not shown." }),
      }),
    });
    const { issuing } = await takeSteps(driver, issuer, { names: dnsNames(newName()) }, isHidden);
    await driver.end(issuer, issuing, signal);
    expect(places).toEqual(["presented at place-1.example", "removed at place-1.example"]);
  });
});

test("a CA that is away was asked for no order, so that none is searched for among all of the account", async () => {
  const proxy = await startProxy({ host: "127.0.0.1", port: Number(new URL(pebble.url).port) });
  const begun: string[] = [];
  const beginOrder = async ({ requestId }: { requestId: string }) => begun.push(requestId) < 0;
  const driver = newDriver({ keep: { ...keepInMemory(), beginOrder } });
  const issuer = newIssuer({ ...pebble, directoryUrl: `https://localhost:${proxy.port}/dir` });
  const ordered = (until?: (step: Step) => boolean) => takeSteps(driver, issuer, { names: dnsNames(newName()) }, until);
  expect((await ordered()).last.to).toBe("issued");
  await proxy.refuse();
  expect((await ordered(({ to }) => to === "retry")).last.to).toBe("retry");
  expect(begun).toHaveLength(1);
  await proxy.accept();
  expect((await ordered()).last.to).toBe("issued");
  expect(begun).toHaveLength(2);
  await proxy.stop();
});

describe("a proof by the host of the request", () => {
  const hidden = { present: async () => {}, remove: async () => {}, isVisible: async () => ({ visible: false as const, reason: "It is not shown." }) };
  const noting =
    (by: unknown[]): Solvers =>
    (settings) => {
      by.push(settings);
      return hidden;
    };

  test("is tried before the issuer's challenges, and waited for beyond the time of a record, looking less and less often", async () => {
    let now = Date.now();
    const by: unknown[] = [];
    const driver = newDriver({ clock: () => new Date(now), solvers: noting(by) });
    const waits: number[] = [];
    const issuer = newIssuer(pebble, { challenges: [{ type: "dns-01" }] });
    const { last } = await takeSteps(driver, issuer, { names: dnsNames(newName()), hostProof: "tls-alpn-01" }, (step) => {
      if (!isHidden(step) || !("againAt" in step)) return false;
      waits.push(step.againAt.getTime() - now);
      now = step.againAt.getTime();
      return waits.length === 22;
    });
    expect(last.to).toBe("validating");
    expect(waits.slice(0, 8)).toEqual([3_000, 3_000, 6_000, 12_000, 24_000, 48_000, 60_000, 60_000]);
    expect(new Set(by.map((each) => JSON.stringify(each)))).toEqual(new Set(['{"type":"tls-alpn-01","by":"host"}']));
  });

  test("leaves a wildcard to the issuer's own", async () => {
    const by: unknown[] = [];
    const driver = newDriver({ solvers: noting(by) });
    const issuer = newIssuer(pebble, { challenges: [{ type: "dns-01" }] });
    await takeSteps(driver, issuer, { names: dnsNames(`*.${newName()}`), hostProof: "http-01" }, isHidden);
    expect(by).toContainEqual({ type: "dns-01" });
    expect(by).not.toContainEqual({ type: "http-01", by: "host" });
  });
});

describe("an account", () => {
  test("is bound to a customer of the CA", async () => {
    const hmacKey = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
    const bound = await start({ externalAccounts: { "kid-1": hmacKey } });
    const test = (config: object, secrets: Record<string, string>) => {
      const issuer = newIssuer(bound, config, secrets);
      return newDriver().test(issuer, signal);
    };
    expect(await test({ externalAccountKeyId: "kid-1" }, { externalAccountHmacKey: hmacKey })).toEqual({
      outcome: "ok",
      message: "The directory answers and accepts the account.",
    });
    expect(await test({}, {})).toMatchObject({ outcome: "failed", message: expect.stringContaining("external account binding") });
    const wrong = Buffer.alloc(32, 1).toString("base64url");
    expect(await test({ externalAccountKeyId: "kid-1" }, { externalAccountHmacKey: wrong })).toMatchObject({ outcome: "failed" });
  });

  test("is found again by its key, and sent new contacts", async () => {
    const secrets = { accountKeyPem: newAccountKey() };
    const [first, second] = [newIssuer(pebble, {}, secrets), newIssuer(pebble, {}, secrets)];
    await newDriver().test(first, signal);
    await newDriver().test(second, signal);
    expect(second.account).toEqual(first.account);
    second.config.contact = ["pki@certitude.example"];
    expect(await newDriver().test(second, signal)).toMatchObject({ outcome: "ok" });
    expect(second.account).toMatchObject({ contact: ["mailto:pki@certitude.example"] });
  });

  test("needs agreement to terms that the CA has", async () => {
    const issuer = newIssuer(pebble, { termsOfServiceAgreed: false });
    expect(await newDriver().test(issuer, signal)).toMatchObject({ outcome: "failed", message: expect.stringContaining("set termsOfServiceAgreed") });
  });

  test("changes its key where the issuer has a next one, and is then known by that alone", async () => {
    const issuer = newIssuer(pebble);
    const driver = newDriver();
    await driver.test(issuer, signal);
    const before = structuredClone(issuer);
    const nextAccountKeyPem = newAccountKey();
    issuer.secrets.nextAccountKeyPem = nextAccountKeyPem;
    expect(chainOf((await takeSteps(driver, issuer, { names: dnsNames(newName()) })).last)).toHaveLength(2);
    expect(issuer.secrets).toEqual({ accountKeyPem: nextAccountKeyPem });
    expect(issuer.account).toMatchObject({ url: (before.account as { url: string }).url });
    // A server that was killed before it kept the change makes it again, and one that does not know of it tries again.
    const again: OpenIssuer = { ...structuredClone(before), secrets: { ...before.secrets, nextAccountKeyPem } };
    expect(await newDriver().test(again, signal)).toMatchObject({ outcome: "ok" });
    expect(again.secrets).toEqual(issuer.secrets);
    const { last } = await takeSteps(
      driver,
      before,
      { names: dnsNames(newName()), progress: { stage: "ordering", since: new Date().toISOString() } },
      () => true,
    );
    expect(last).toMatchObject({ to: "retry", reason: "The issuer has another account key by now." });
  });

  test("whose key changes while proofs wait has the order made again", async () => {
    const issuer = newIssuer(pebble, { challenges: [{ type: "http-01" }] });
    const driver = newDriver();
    const names = dnsNames(newName());
    const { issuing } = await takeSteps(driver, issuer, { names }, (step) => "progress" in step && readProofs(step).some(({ state }) => state === "planned"));
    issuer.secrets.nextAccountKeyPem = newAccountKey();
    const { steps, last } = await takeSteps(driver, issuer, issuing);
    expect(steps.map(reasonOf)).toContain("The account has another key than when the proofs were planned.");
    expect(chainOf(last)).toHaveLength(2);
  });

  test.each([
    ["RSA", () => generateKeyPairSync("rsa", { modulusLength: 2_048 })],
    ["P-384", () => generateKeyPairSync("ec", { namedCurve: "P-384" })],
  ])("has a key of the kind %s", async (_, make) => {
    const issuer = newIssuer(pebble, {}, { accountKeyPem: String(make().privateKey.export({ type: "pkcs8", format: "pem" })) });
    expect(await newDriver().test(issuer, signal)).toMatchObject({ outcome: "ok" });
  });

  test("that the CA has forgotten is registered again, and the order made again", async () => {
    const issuer = newIssuer(pebble);
    const driver = newDriver();
    await driver.test(issuer, signal);
    issuer.account = { ...(issuer.account as object), url: `${pebble.url}/my-account/ffffffff` };
    const { last, steps } = await takeSteps(driver, issuer, { names: dnsNames(newName()) });
    expect(steps.map(({ to }) => to)).toContain("retry");
    expect(chainOf(last)).toHaveLength(2);
  });
});

describe("a chain", () => {
  test("is the one that leads to the preferred root, or else the CA's own", async () => {
    const several = await start({ alternateRoots: 2, chainLength: 2 });
    const rootNames = await Promise.all([0, 1, 2].map(async (index) => /CN=(.+)/.exec(new X509Certificate(await several.root(index)).subject)?.[1] ?? ""));
    expect(new Set(rootNames).size).toBe(3);
    const topOf = async (config: object) => {
      const issuer = newIssuer(several, config);
      return chainOf((await takeSteps(newDriver(), issuer, { names: dnsNames(newName()) })).last).at(-1)?.issuer;
    };
    for (const name of rootNames) expect(await topOf({ preferredChain: name })).toBe(`CN=${name}`);
    expect(await topOf({ preferredChain: "No such root" })).toBe(`CN=${rootNames[0]}`);
  });
});

describe("a certificate", () => {
  test("is revoked by the account that ordered it, and a second time changes nothing", async () => {
    const issuer = newIssuer(pebble);
    const driver = newDriver();
    const [leaf] = chainOf((await takeSteps(driver, issuer, { names: dnsNames(newName()) })).last);
    if (!leaf) throw new Error("there is no leaf");
    const revoked = { pem: leaf.toString(), reason: "superseded" };
    expect(await driver.revoke(issuer, revoked, signal)).toEqual({ to: "revoked" });
    expect(await driver.revoke(issuer, revoked, signal)).toEqual({ to: "revoked" });
    expect(await pebble.statusOf(leaf.serialNumber)).toMatchObject({ Status: "Revoked", Reason: 4 });
  });

  test("has no window of renewal where the CA knows none", async () => {
    const issuer = newIssuer(pebble);
    const driver = newDriver();
    const [leaf] = chainOf((await takeSteps(driver, issuer, { names: dnsNames(newName()) })).last);
    expect(await driver.findRenewalWindow(issuer, `${leaf}`, signal)).toBeUndefined();
  });
});
