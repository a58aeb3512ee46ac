import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Desired } from "#agent/server-client";
import { desired, desiredServer } from "../support/agent/agent-host";
import { conductAsNobody, OWN, passAsNobody } from "../support/agent/other-user";
import { type Issued, newAuthority } from "../support/pki/authority";
import { runs, serveRepository } from "../support/pki/tls-clients";

setDefaultTimeout(300_000);

let authority: Awaited<ReturnType<typeof newAuthority>>;
let leaf: Issued;
beforeAll(async () => {
  authority = await newAuthority();
  leaf = await authority.issueServer("own.test");
});
afterAll(() => authority.remove());

type Store = Desired["trustStoreType"];
type Config = Desired["config"];
const alias = "root";
const keystore = (name: string) => ({ alias, trustStorePath: `${OWN}/${name}`, storePasswordRef: `file:${OWN}/password` });

test.each<[Store, Config]>([
  ["openssl_ca_dir", { trustStorePath: `${OWN}/certs` }],
  ["pem_ca_bundle", { trustStorePath: `${OWN}/bundle.pem` }],
  ["ssl_cert_file_env", { envFilePath: `${OWN}/env` }],
  ["nodejs_extra_ca_certs", { envFilePath: `${OWN}/env` }],
  ["python_requests_ca_bundle", { envFilePath: `${OWN}/env` }],
  ["curl_ca_bundle", {}],
  ["git_http_sslcainfo", {}],
  ["java_cacerts", keystore("cacerts")],
  ["java_keystore_jks", keystore("trust.jks")],
  ["java_keystore_pkcs12", keystore("trust.p12")],
  ["nss_shared_db", { alias }],
  ["docker_certs_d", { trustStorePath: `${OWN}/docker` }],
  ["podman_certs_d", { trustStorePath: `${OWN}/podman` }],
  ["containerd_certs_d", { trustStorePath: `${OWN}/containerd` }],
])("%s: an agent without any right installs an anchor where its account may write", async (trustStoreType, config) => {
  expect(await passAsNobody(desired(authority.root, { trustStoreType, config }))).toMatchObject({ state: "installed" });
});

test.each<Store>(["nginx_tls", "haproxy_tls", "postgresql_server_tls", "redis_server_tls", "pem_files"])(
  "%s: an agent without any right installs a server's certificate where its account may write",
  async (trustStoreType) => {
    const names = trustStoreType === "pem_files" && { certFileName: "tls.crt", keyFileName: "tls.key" };
    const config = { trustStorePath: `${OWN}/home`, reloadCommand: ["true"], ...names };
    expect(await passAsNobody(desiredServer(leaf, { trustStoreType, config }))).toMatchObject({ state: "installed" });
  },
);

test("git_http_sslcainfo: an agent without any right installs a client certificate, which git of its account alone presents", async () => {
  const closed = await serveRepository(leaf, authority.root.pem);
  const list = ["git", "-c", "http.sslVerify=false", "ls-remote", "--exit-code", closed.url];
  const item = desiredServer(leaf, { trustStoreType: "git_http_sslcainfo", materialType: "client_certificate", config: { alias } });
  expect(await conductAsNobody(item, list)).toEqual({ result: { state: "installed", observedFingerprint: leaf.fingerprint }, isGood: true });
  expect((await runs(list)).isGood).toBe(false);
  await closed.stop();
});

test.each<[Store, Config]>([
  ["linux_update_ca_certificates", {}],
  ["openssl_ca_dir", {}],
  ["python_certifi", {}],
  ["java_cacerts", { alias }],
  ["docker_certs_d", { trustStorePath: "/etc/docker/certs.d/registry.example" }],
])("%s: where only root may write, it says what it lacks", async (trustStoreType, config) => {
  const result = await passAsNobody(desired(authority.root, { trustStoreType, config }));
  expect(result).toMatchObject({
    state: "failed",
    message: expect.stringMatching(/the agent's user may not. Run the agent as root, or give its user the right/),
  });
});
