import { afterAll, describe, expect, test } from "bun:test";
import { issue, mustIssue, newAuthority, rootBody } from "../../../support/pki/issuing";
import { newRequested, signElsewhere } from "../../../support/pki/offline-root";
import { newOpenssl } from "../../../support/pki/openssl";
import { newOrganization } from "../../../support/server/people";

const openssl = newOpenssl();
afterAll(openssl.remove);
const organization = await newOrganization();
const activate = (id: string, pem: string, headers = {}) => organization.admin("POST", `/authorities/${id}/certificate`, { body: { pem }, headers });

describe("POST authority certificate", () => {
  test("400 for what is not of its request, and it stays pending; then 200, and it issues", async () => {
    const pending = await newRequested(organization, { nameConstraints: { permittedDomains: ["example.com"] } });
    expect(pending).toMatchObject({ status: "pending", certificateId: null, certificatePem: null, subject: "CN=Example Issuing CA,O=Example" });
    openssl.write("request.pem", pending.requestPem);
    const request = await openssl.run("req", "-in", "request.pem", "-noout", "-text", "-verify");
    for (const each of ["verify OK", "CA:TRUE, pathlen:0", "Certificate Sign, CRL Sign", "DNS:example.com"]) expect(request).toContain(each);

    const refused: [string, string][] = [
      [await signElsewhere((await newRequested(organization)).requestPem), "its key is another one."],
      [await signElsewhere(pending.requestPem, { extensions: "basicConstraints=CA:false" }), "it is no CA."],
      [
        await signElsewhere(pending.requestPem, { extensions: "basicConstraints=critical,CA:true,pathlen:3" }),
        "its path length is 3, and the request asked for 0.",
      ],
      [
        await signElsewhere(pending.requestPem, { extensions: "basicConstraints=critical,CA:true,pathlen:0\nkeyUsage=digitalSignature" }),
        "may not sign certificates",
      ],
      [
        `${await signElsewhere(pending.requestPem, { withRoot: false })}${(await newAuthority(organization, rootBody)).certificatePem}`,
        "block 1 did not sign block 0.",
      ],
    ];
    for (const [pem, message] of refused) {
      const answer = await activate(pending.id, pem);
      expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(message)]);
    }
    expect(await issue(openssl, organization, pending)).toMatchObject({ invalid: 'The authority "Requested" waits for its certificate.' });
    const child = { ...rootBody, kind: "issuing", parentId: pending.id };
    expect((await organization.admin("POST", "/authorities", { body: child })).status).toBe(400);

    const pem = await signElsewhere(pending.requestPem);
    expect((await activate(pending.id, pem, { "if-match": '"9"' })).status).toBe(412);
    const active = await activate(pending.id, pem);
    expect(active.body).toMatchObject({ status: "active", requestPem: null, chainPem: "", pathLength: 0, version: 2 });
    expect((await activate(pending.id, pem)).status).toBe(409);
    const { chainPem, pem: leaf } = await mustIssue(openssl, organization, pending);
    openssl.write("root.pem", pem.slice(pem.lastIndexOf("-----BEGIN")));
    openssl.write("chain.pem", chainPem);
    openssl.write("leaf.pem", leaf);
    expect(await openssl.run("verify", "-CAfile", "root.pem", "-untrusted", "chain.pem", "leaf.pem")).toContain("OK");
  });
});
