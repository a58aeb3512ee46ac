import { afterAll, describe, expect, test } from "bun:test";
import { testConnection } from "#modules/core/connections/services/tests";
import type { Kind } from "#modules/core/connectors/rules/kinds";
import { send } from "#outbound/http-client";
import { signatureOf } from "../../../support/server/aws-signature";
import { connect, tryOut } from "../../../support/server/connections";
import { newOrganization } from "../../../support/server/people";
import { startTarget } from "../../../support/server/target";

const CREDENTIALS = { accessKeyId: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const organization = await newOrganization();
/** A storage with one bucket, and a service of AWS. Only what its own account signed is answered. */
const target = startTarget((request, index) => {
  const { body = "", path = "" } = target.requests[index] ?? {};
  if (request.headers.get("authorization") !== signatureOf(request, body, CREDENTIALS)) return new Response(null, { status: 403 });
  return new Response(null, { status: ["/", "/certs"].includes(path) ? 200 : 404 });
});
afterAll(() => target.stop());

const keys = (secretAccessKey = CREDENTIALS.secret, more = {}) => ({ secretAccessKey, ...more });

describe("a test that is signed as AWS wants it", () => {
  test("s3: 200 ok for a bucket that the key may see, failed for another key or bucket", async () => {
    const tryAt = async (bucket: string, secrets: object, more: object = {}) => {
      const config = { region: "eu-central-1", bucket, endpoint: target.url, pathStyle: true, accessKeyId: CREDENTIALS.accessKeyId, ...more };
      return (await tryOut(organization, await connect(organization, "s3", config, secrets))).body;
    };
    expect(await tryAt("certs", keys())).toEqual({ outcome: "ok", message: "It accepted the credentials." });
    expect(await tryAt("certs", keys(undefined, { sessionToken: "t" }))).toMatchObject({ outcome: "ok" });
    expect(target.requests.map(({ method, headers }) => [method, headers["x-amz-security-token"]])).toEqual([
      ["HEAD", undefined],
      ["HEAD", "t"],
    ]);
    expect(await tryAt("certs", keys("another"))).toEqual({ outcome: "failed", message: "It answered 403: it does not accept the credentials." });
    expect(await tryAt("others", keys())).toEqual({ outcome: "failed", message: "It answered 404, not 200." });
    expect(await tryAt("certs", keys(), { roleArn: "arn:aws:iam::1:role/x" })).toEqual({
      outcome: "unsupported",
      message: "There is no check of Amazon S3 and compatible storage with roleArn.",
    });
  });

  test.each([
    ["aws_acm", {}, "acm", '{"MaxItems":1}'],
    ["aws_acm_pca", { certificateAuthorityArn: "arn:1" }, "acm-pca", '{"CertificateAuthorityArn":"arn:1"}'],
    ["s3", { bucket: "certs", pathStyle: false }, "certs.s3", ""],
  ] as const)("%s: ok at the address of its region, failed with another key", async (kind, config, host, body) => {
    const about = { kind: kind as Kind, id: crypto.randomUUID(), organization: { id: organization.id, name: "Example" } };
    const needs = {
      config: { allowPrivateTargets: true, publicUrl: undefined },
      clock: () => new Date(),
      reach: (call: Parameters<typeof send>[0], limits: Parameters<typeof send>[1]) =>
        send({ ...call, url: new URL(call.url.pathname, target.url), headers: { ...call.headers, host: call.url.host } }, limits),
    };
    const values = { region: "eu-central-1", accessKeyId: CREDENTIALS.accessKeyId, ...config };
    expect(await testConnection({ ...about, values: { ...values, ...keys() } }, needs)).toMatchObject({ outcome: "ok" });
    expect(target.requests.at(-1)).toMatchObject({ body, headers: { host: `${host}.eu-central-1.amazonaws.com` } });
    expect(await testConnection({ ...about, values: { ...values, ...keys("another") } }, needs)).toMatchObject({ outcome: "failed" });
  });
});
