import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdirSync } from "node:fs";
import { type Installation, type InstalledAgent, newInstallation } from "../support/agent/installation";
import { until } from "../support/agent/observing";
import { type Pebble, startPebble } from "../support/issuance/pebble";
import { newAuthority } from "../support/pki/authority";
import { presentedAt, startNginx, type TlsServer, writePair } from "../support/pki/tls-servers";

setDefaultTimeout(300_000);

/** Short enough that a certificate is retired some seconds after its successor was seen, and long enough for a busy machine. */
const LIFETIME_S = 240;
const RENEWED_AFTER_MS = 10_000;

let installation: Installation;
let pebble: Pebble;
let bootstrap: Awaited<ReturnType<typeof newAuthority>>;
beforeAll(async () => {
  [installation, bootstrap] = await Promise.all([newInstallation({ ALLOW_PRIVATE_TARGETS: "true" }), newAuthority()]);
  pebble = await startPebble({ httpPort: Number(new URL(installation.url).port), validitySeconds: LIFETIME_S });
});
afterAll(async () => {
  bootstrap.remove();
  await Promise.all([pebble.stop(), installation.remove()]);
});

async function newOwnIssuer() {
  const profile = { name: "server", usage: "server", defaultLifetimeSeconds: LIFETIME_S };
  const root = { kind: "root", name: "Root", subject: { commonName: "Scratch Root" }, publicUrl: installation.url };
  const issuing = { name: "Issuing", subject: { commonName: "Scratch Issuing" }, profiles: [profile] };
  const made = await installation.get("POST", "{org}/authorities", { ...root, issuing });
  return { kind: "internal", name: "Ours", config: { authorityId: made.issuing.id } };
}

async function newPebbleIssuer() {
  const { directoryUrl, caBundlePem } = pebble;
  return { kind: "acme", name: "Pebble", config: { directoryUrl, caBundlePem, termsOfServiceAgreed: true } };
}

/** A host with an nginx that serves another authority's certificate until the agent, which goes on, brings it another. */
async function newHost(name: string) {
  const agent: InstalledAgent = await installation.enrol();
  mkdirSync(agent.pathOf("tls"));
  writePair(agent.pathOf("tls/tls.crt"), agent.pathOf("tls/tls.key"), await bootstrap.issueServer(name));
  const nginx: TlsServer = await startNginx(agent.pathOf());
  const config = { trustStorePath: agent.pathOf("tls"), reloadCommand: nginx.reloadCommand, verifyEndpoint: `https://127.0.0.1:${nginx.port}` };
  agent.agree({ config });
  const running = agent.start("--interval", "1s");
  const deployment = { agentId: agent.id, applicationId: "shop", trustStoreType: "nginx_tls", materialType: "server_certificate", config };
  async function stop() {
    await running.stop();
    await nginx.stop();
  }
  return { deployment, port: nginx.port, stop };
}

type Named = { items: { certificateId: string; state: string; successorId: string | null; reason: string | null }[] };

/** The renewal of a certificate, whatever its state. */
async function renewalOf(certificateId: string) {
  for (const state of ["scheduled", "ordered", "failed", "issued", "renewed", "ended"]) {
    const { items }: Named = await installation.get("GET", `{org}/renewals?state=${state}&limit=100`);
    const found = items.find((each) => each.certificateId === certificateId);
    if (found) return found;
  }
}

const read = (id: string) => installation.get("GET", `{org}/certificates/${id}`);

/** Waits until the certificate has a successor, which nginx serves and the agent has seen there. */
async function successorOf(certificateId: string, port: number) {
  let successorId = "";
  await until(async () => {
    successorId = (await renewalOf(certificateId))?.successorId ?? "";
    expect(successorId).not.toBe("");
  });
  await isServed(successorId, port);
  return successorId;
}

async function isServed(id: string, port: number) {
  const { fingerprintSha256 } = await read(id);
  await until(async () => {
    expect((await presentedAt(port))[0]).toBe(fingerprintSha256);
    const [deployment] = (await installation.get("GET", `/portal{org}/certificates/${id}`)).deployments;
    expect(deployment).toMatchObject({ state: "installed" });
  });
}

describe("the executable renews a certificate whose key its host made, and nginx serves it", () => {
  test.concurrent.each([
    ["an authority of the organization's own", newOwnIssuer],
    ["an ACME CA, proven by http-01 at the server itself", newPebbleIssuer],
  ])("of %s", async (_, newIssuer) => {
    const issuer = await newIssuer();
    const { id: issuerId } = await installation.get("POST", "{org}/issuers", issuer);
    const name = `${issuer.kind}.certitude.example`;
    const host = await newHost(name);
    const ordered = { issuerId, names: [name], key: { location: "agent" }, deployment: host.deployment };
    const renewAt = new Date(Date.now() + RENEWED_AFTER_MS).toISOString();
    const { id } = await installation.get("POST", "{org}/certificate-requests", { ...ordered, renewAt });
    const request = () => installation.get("GET", `{org}/certificate-requests/${id}`);
    await until(async () => expect(await request()).toMatchObject({ status: "issued", reason: null }));
    const first = (await request()).certificateId;
    await isServed(first, host.port);

    const second = await successorOf(first, host.port);
    await until(async () => expect([(await read(first)).status, (await renewalOf(first))?.state]).toEqual(["retired", "renewed"]));

    const { pem } = await read(second);
    await installation.get("POST", `{org}/certificates/${second}/revoke`, { reason: "keyCompromise" });
    const third = await successorOf(second, host.port);
    expect(new Set([first, second, third]).size).toBe(3);
    const keys = await Promise.all(
      [first, second, third].map(async (each) => new X509Certificate((await read(each)).pem).publicKey.export({ type: "spki", format: "pem" })),
    );
    expect(new Set(keys).size).toBe(3);
    if (issuer.kind === "acme")
      await until(async () => expect(await pebble.statusOf(new X509Certificate(pem).serialNumber)).toMatchObject({ Status: "Revoked", Reason: 1 }));
    await host.stop();
  });
});
