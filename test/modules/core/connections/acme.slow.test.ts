import { expect, setDefaultTimeout } from "bun:test";
import { openAccountKey } from "#modules/issuance/acme/services/account-key";
import { createClient } from "#modules/issuance/acme/services/directory";
import { newAccountKey } from "../../../support/issuance/acme";
import { type Pebble, startPebble } from "../../../support/issuance/pebble";
import { needing } from "../../../support/needing";
import { connect, tryOut } from "../../../support/server/connections";
import { newOrganization } from "../../../support/server/people";
import { startTarget } from "../../../support/server/target";

const { afterAll, beforeAll, test } = needing("pebble");

setDefaultTimeout(300_000);

const organization = await newOrganization();
let pebble: Pebble;
beforeAll(async () => {
  pebble = await startPebble();
});
afterAll(() => pebble.stop());

async function tryAt(config: object = {}, secrets: object = {}) {
  const { directoryUrl, caBundlePem } = pebble;
  return (await tryOut(organization, await connect(organization, "acme", { directoryUrl, caBundlePem, termsOfServiceAgreed: true, ...config }, secrets))).body;
}

test("POST /core/connections/{connectionId}/test 200 ok for a directory that answers, and for the key of an account that it has; failed for another key, which is not registered", async () => {
  expect(await tryAt()).toEqual({ outcome: "ok", message: "It answers. Credentials are not part of this check." });
  const accountPrivateKeyPem = newAccountKey();
  const unknown = await tryAt({}, { accountPrivateKeyPem });
  expect(unknown).toEqual({ outcome: "failed", message: expect.stringMatching(/^The CA does not know the account\./) });
  expect(await tryAt({}, { accountPrivateKeyPem })).toEqual(unknown);
  const limits = { allowPrivate: true, signal: new AbortController().signal, clock: () => new Date() };
  const client = createClient(new Map(), { organizationId: organization.id, id: "x", settings: pebble }, limits);
  const { newAccount } = await client.directory();
  await client.post(newAccount, { termsOfServiceAgreed: true }, { key: await openAccountKey(accountPrivateKeyPem) });
  expect(await tryAt({}, { accountPrivateKeyPem })).toEqual({ outcome: "ok", message: "It accepted the credentials." });
});

test("POST /core/connections/{connectionId}/test 200 failed for a CA that is not trusted, an address without a directory, and a key that is none", async () => {
  const target = startTarget(() => Response.json({}));
  expect((await tryAt({ caBundlePem: undefined })).message).toBe("The CA could not be asked. Its TLS certificate is not trusted.");
  expect((await tryAt({ directoryUrl: target.url })).message).toBe("There is no ACME directory at directoryUrl: newNonce, newAccount or newOrder is missing.");
  expect((await tryAt({}, { accountPrivateKeyPem: "nonsense" })).message).toBe(
    "The account key must be an EC (P-256, P-384, P-521), RSA or Ed25519 private key in PEM.",
  );
  await target.stop();
});
