import { expect, setDefaultTimeout } from "bun:test";
import { X509Certificate } from "node:crypto";
import { nameFor, newCsr, newDriver, newIssuer, takeSteps } from "../../../support/issuance/acme";
import { startCaddy, startPort80 } from "../../../support/issuance/caddy";
import { needing } from "../../../support/needing";
import { world } from "../../../support/server/world";

const { afterAll, beforeAll, test } = needing("caddy");

setDefaultTimeout(300_000);

let caddy: Awaited<ReturnType<typeof startCaddy>>;
let port80: ReturnType<typeof startPort80>;
beforeAll(async () => {
  caddy = await startCaddy();
  port80 = startPort80(world.url);
});
afterAll(async () => {
  await port80.stop();
  await caddy.stop();
});

test("a private CA issues to who has its CA bundle", async () => {
  const issuer = newIssuer(caddy);
  await nameFor(issuer, port80.address);
  const driver = newDriver();
  expect(await driver.test(issuer, new AbortController().signal)).toMatchObject({ outcome: "ok" });
  const names = [{ type: "ip" as const, value: port80.address }];
  const { csr, privateKey } = newCsr(names);
  const { last } = await takeSteps(driver, issuer, { names, csr });
  if (last.to !== "issued") throw new Error(JSON.stringify(last));
  const leaf = new X509Certificate(last.chainPem);
  expect(leaf.checkPrivateKey(privateKey)).toBe(true);
  expect(leaf.subjectAltName).toBe(`IP Address:${port80.address}`);
});

test("a private CA is not asked by who lacks its CA bundle", async () => {
  const { caBundlePem: _, ...config } = newIssuer(caddy).config;
  const issuer = { ...newIssuer(caddy), config };
  expect(await newDriver().test(issuer, new AbortController().signal)).toEqual({
    outcome: "failed",
    message: "The CA could not be asked. Its TLS certificate is not trusted.",
  });
});
