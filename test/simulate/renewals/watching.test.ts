import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { createServer } from "node:tls";
import { keyPemOf } from "../../support/issuance/pebble";
import { certificate } from "../../support/pki/certificates";
import { formsOf } from "../../support/pki/key-forms";
import { createSearch } from "./keys";
import { findFault, shakeHands, trusting } from "./prober";

const NAME = "www.certitude.example";
const root = certificate({ commonName: "Root", isCa: true });
const stranger = certificate({ commonName: "Stranger", isCa: true });
const shown = {
  good: certificate({ dns: [NAME], issuer: root }),
  expired: certificate({ dns: [NAME], issuer: root, from: -2, days: -1 }),
  early: certificate({ dns: [NAME], issuer: root, from: 1 }),
  others: certificate({ dns: ["other.example"], issuer: root }),
  untrusted: certificate({ dns: [NAME], issuer: stranger }),
};

describe("a handshake", () => {
  const ports: Record<string, number> = {};
  const servers = Object.entries(shown).map(([which, minted]) => ({ which, server: createServer({ cert: minted.pem, key: keyPemOf(minted) }) }));
  beforeAll(async () => {
    for (const { which, server } of servers) {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      ports[which] = (server.address() as { port: number }).port;
    }
  });
  afterAll(() => {
    for (const { server } of servers) server.close();
  });

  test.each([
    ["good", undefined],
    ["expired", /has expired/],
    ["early", /is not valid before/],
    ["others", /of other names: DNS:other.example/],
    ["untrusted", /is not trusted/],
  ])("with a certificate that is %s", async (which, fault) => {
    const { raw, untrusted } = await shakeHands({ name: NAME, port: ports[which] ?? 0, isPostgres: false }, trusting([root.pem]));
    const found = findFault({ x509: new X509Certificate(raw), untrusted }, NAME, new Date());
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(fault);
  });
});

describe("what is searched for private keys", () => {
  const minted = [certificate(), certificate()];
  const search = createSearch(new Map(minted.map((each, index) => [String(index), keyPemOf(each)])));
  const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(5_000)));

  test("finds each form of each key, and where it is", () => {
    for (const [index, each] of minted.entries())
      for (const form of formsOf(keyPemOf(each))) expect(search(Buffer.concat([noise, form, noise]))).toContainEqual({ of: String(index), at: noise.length });
  });

  test("is taken for nothing else: certificates, and the public half", () => {
    const publicPems = minted.flatMap(({ pem }) => [pem, String(new X509Certificate(pem).publicKey.export({ type: "spki", format: "pem" }))]);
    expect(search(Buffer.from([...publicPems, noise.toString("base64"), noise.toString("hex")].join("\n")))).toEqual([]);
  });
});
