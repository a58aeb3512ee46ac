import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Installation, newInstallation } from "../support/agent/installation";
import { until } from "../support/agent/observing";
import { tlsFilesIn } from "../support/pki/tls-files";
import { presentedAt } from "../support/pki/tls-servers";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-own-tls-"));
const files = tlsFilesIn(directory);
const bootstrap = files.write("localhost");
let installation: Installation;
beforeAll(async () => {
  installation = await newInstallation(files.env);
});
afterAll(async () => {
  await installation.remove();
  rmSync(directory, { recursive: true });
});

/** A root of the organization, and an issuer below it. */
async function newIssuer() {
  const root = { kind: "root", name: "Root", subject: { commonName: "Scratch Root" }, publicUrl: installation.url };
  const issuing = { name: "Issuing", subject: { commonName: "Scratch Issuing" } };
  const made = await installation.get("POST", "{org}/authorities", { ...root, issuing });
  const { id } = await installation.get("POST", "{org}/issuers", { kind: "internal", name: "Ours", config: { authorityId: made.issuing.id } });
  return { issuerId: id, rootPem: made.certificatePem };
}

/** An agent that knows the server by its first certificate and by the root, and may write its files. */
async function startAgent(authorities: string[]) {
  const agent = await installation.enrol();
  writeFileSync(agent.pathOf("policy.json"), JSON.stringify({ directories: [directory], privateKeys: true }), { mode: 0o600 });
  writeFileSync(agent.pathOf("ca.pem"), authorities.join(""));
  return { id: agent.id, running: agent.start("--interval", "1s", "--ca-file", agent.pathOf("ca.pem")) };
}

test("an agent keeps the files of TLS_CERT and TLS_KEY by an authority of this server: what it installs and renews is what new connections see", async () => {
  const { url, get } = installation;
  const { port } = new URL(url);
  const { issuerId, rootPem } = await newIssuer();
  const agent = await startAgent([bootstrap, rootPem]);
  const config = { trustStorePath: directory, certFileName: "tls.pem", keyFileName: "tls.key", verifyEndpoint: `https://127.0.0.1:${port}` };
  const deployment = { agentId: agent.id, applicationId: "certitude", trustStoreType: "pem_files", materialType: "server_certificate", config };

  async function issued(requestId: string): Promise<string> {
    let certificateId = "";
    await until(async () => {
      const request = await get("GET", `{org}/certificate-requests/${requestId}`);
      expect(request).toMatchObject({ status: "issued", reason: null });
      certificateId = request.certificateId;
    });
    return certificateId;
  }
  /** The agent has seen it at the server, and who trusts the root alone comes in. */
  async function isServed(id: string) {
    const { fingerprintSha256 } = await get("GET", `{org}/certificates/${id}`);
    await until(async () => {
      const [deployed] = (await get("GET", `/portal{org}/certificates/${id}`)).deployments;
      expect(deployed).toMatchObject({ state: "installed" });
      expect((await presentedAt(Number(port)))[0]).toBe(fingerprintSha256);
      expect((await fetch(`${url}/health/ready`, { tls: { ca: rootPem } })).status).toBe(200);
    });
    return fingerprintSha256;
  }

  await expect(fetch(`${url}/health/ready`, { tls: { ca: rootPem } })).rejects.toThrow();
  const ordered = await get("POST", "{org}/certificate-requests", { issuerId, names: ["localhost"], key: { location: "agent" }, deployment });
  const first = await issued(ordered.id);
  const before = await isServed(first);
  const second = await issued((await get("POST", `{org}/certificates/${first}/renew`)).id);
  expect(await isServed(second)).not.toBe(before);
  expect(await agent.running.stop()).toEqual({ code: 0, stderr: "" });
});
