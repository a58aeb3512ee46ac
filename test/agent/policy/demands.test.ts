import { describe, expect, test } from "bun:test";
import { thisHost } from "#agent/host/host";
import { demandsOf, removalDemandsOf } from "#agent/policy/demands";
import { OWN_PLACES, PLACES } from "#agent/policy/places";
import type { Target } from "#agent/store";
import { completeConfig } from "#modules/fleet/assignments/rules";
import type { AssignmentConfig } from "#modules/fleet/assignments/schema/assignments";
import { configRulesOf } from "#modules/fleet/trust-stores/rules/catalogue";
import { INSTALLABLE } from "#modules/fleet/trust-stores/rules/installable";

const HOST = thisHost({ HOME: "/home/agent", GIT_CONFIG_SYSTEM: "/etc/gitconfig" });

function target(storeType: Target["storeType"], config: AssignmentConfig, materialType: Target["materialType"] = "trust_anchor"): Target {
  const complete = completeConfig(storeType, config);
  if ("invalid" in complete) throw new Error(complete.invalid);
  return { assignmentId: "0193b3c0-0000-7000-8000-000000000001", storeType, materialType, alias: config.alias ?? "certitude-x", config: complete.config };
}
const demands = (...given: Parameters<typeof target>) => demandsOf(target(...given), false, HOST).filter(({ kind }) => kind !== "store" && kind !== "value");
const kinds = (...given: Parameters<typeof target>) => demands(...given).map((each) => ("path" in each ? `${each.kind} ${each.path}` : each.kind));

/** A value that no rule permits by itself, for each field that reaches the host. */
const HOSTILE: AssignmentConfig = {
  trustStorePath: "/srv/evil",
  envFilePath: "/root/.profile",
  pythonVenvPath: "/srv/venv",
  storePasswordRef: "file:/etc/shadow",
  reloadCommand: ["sh", "-c", "id"],
  verifyEndpoint: "https://169.254.169.254",
  nodeFlags: ["--import=data:,x"],
  dbUser: "root",
  keyPermissionMode: "4777",
  certFileName: "authorized_keys",
  keyFileName: "crontab",
  chainFileName: "chain",
  fullChainFileName: "fullchain",
  combinedFileName: "combined",
  caFileName: "ca",
  keyDirectory: "/srv/keys",
  fileOwner: "mallory",
  fileGroup: "mallets",
};
/** Fields that say when or how, never where or what; names that are judged as values alone; and a preset, which is a config that this host knows. */
const HARMLESS = ["alias", "verifyServerName", "autoRenew", "removeOnRevoke", "preferOsStore", "useOpensslCa", "preset", "verifyStartTls"];
/** A login of a database, which a fixed statement uses; never an account of the host. */
const isLogin = (storeType: string, field: string) =>
  field === "dbUser" && !["nss_shared_db", "nss_firefox_profile", "postgresql_client_tls"].includes(storeType);

describe("what an assignment asks of the host", () => {
  for (const storeType of INSTALLABLE)
    test(`${storeType}: each field that reaches the host is asked for`, () => {
      const { required, optional } = configRulesOf(storeType);
      const config = Object.fromEntries(
        [...required, ...optional].flatMap((field) =>
          field in HOSTILE ? [[field, HOSTILE[field as keyof AssignmentConfig]]] : field === "alias" ? [[field, "x"]] : [],
        ),
      );
      // No endpoint verifies a client certificate; only that has a key in git's settings.
      const before = JSON.stringify(
        (["client_certificate", "server_certificate"] as const).map((type) =>
          demandsOf(target(storeType, config, type), true, HOST).filter(({ kind }) => kind !== "value"),
        ),
      );
      for (const field of [...required, ...optional]) {
        if (HARMLESS.includes(field) || isLogin(storeType, field)) continue;
        expect(HOSTILE).toHaveProperty(field);
        const value = HOSTILE[field as keyof AssignmentConfig];
        const said = typeof value === "string" ? value.replace(/^https:\/\//, "") : JSON.stringify(value).slice(1, -1);
        expect([field, before.includes(said)]).toEqual([field, true]);
      }
    });

  test("each word of the config is judged as a value, and the alias also where it was made of the id", () => {
    const valuesOf = (config: AssignmentConfig) =>
      demandsOf(target("nginx_tls", config, "server_certificate"), false, HOST).flatMap((each) => (each.kind === "value" ? [[each.field, each.value]] : []));
    expect(
      Object.fromEntries(valuesOf({ trustStorePath: "/srv/tls", certFileName: "a.crt", reloadCommand: ["nginx", "-s", "reload"], autoRenew: false })),
    ).toEqual({
      ...configRulesOf("nginx_tls").defaults,
      trustStorePath: "/srv/tls",
      certFileName: "a.crt",
      reloadCommand: ["nginx", "-s", "reload"],
      alias: "certitude-x",
    });
  });

  test("a store's own default place asks for nothing", () => {
    for (const [type, config] of [
      ["linux_update_ca_certificates", {}],
      ["openssl_ca_dir", {}],
      ["java_cacerts", { alias: "corp" }],
      ["nss_shared_db", { alias: "corp" }],
      ["curl_ca_bundle", {}],
      ["git_http_sslcainfo", {}],
      ["python_certifi", {}],
    ] as const)
      expect([type, kinds(type, config)]).toEqual([type, type === "linux_update_ca_certificates" ? ["directory /usr/local/share/ca-certificates"] : []]);
  });

  test("paths are those that the store will use", () => {
    expect(kinds("ssl_cert_file_env", { envFilePath: "/etc/environment" })).toEqual(["named file /etc/environment"]);
    expect(kinds("ssl_cert_file_env", { envFilePath: "/etc/environment", certFileName: "passwd" })).toEqual([
      "named file /etc/environment",
      "file /etc/passwd",
    ]);
    expect(kinds("curl_ca_bundle", { certFileName: ".bashrc" })).toEqual(["file /home/agent/.bashrc"]);
    expect(kinds("curl_ca_bundle", { trustStorePath: "~/ca", certFileName: "ca.pem" })).toEqual(["file /home/agent/ca/ca.pem"]);
    expect(kinds("git_http_sslcainfo", { trustStorePath: "/srv/x" }, "client_certificate")).toEqual(["directory /srv/x"]);
    expect(kinds("git_http_sslcainfo", { certFileName: "hook" }, "client_certificate")).toEqual(["named file /home/agent/.gitconfig.d/hook"]);
    expect(kinds("openssl_ca_dir", { certFileName: "openssl.cnf" })).toEqual(["named file /etc/ssl/certs/openssl.cnf"]);
    expect(kinds("pem_files", { trustStorePath: "/srv/x", keyDirectory: "/srv/keys", keyFileName: "k" })).toEqual([
      "directory /srv/x",
      "directory /srv/keys",
      "named file /srv/keys/k",
    ]);
    expect(kinds("docker_certs_d", { trustStorePath: "/etc/docker/certs.d/registry.example:5000" })).toEqual([
      "directory /etc/docker/certs.d/registry.example:5000",
    ]);
    expect(kinds("firefox_policy", {})).toEqual([]);
    expect(kinds("firefox_policy", { trustStorePath: "/srv/p.json", certFileName: "x" })).toEqual([
      "named file /srv/p.json",
      "directory /srv",
      "named file /srv/x",
    ]);
    expect(kinds("chrome_policy", { certFileName: "a.json" })).toEqual([]);
    expect(kinds("chrome_policy", { trustStorePath: "/etc/app", certFileName: "config.json" })).toEqual(["named file /etc/app/config.json"]);
    expect(kinds("php_openssl_cafile", { certFileName: "evil.ini" })).toEqual(["named file /etc/php/evil.ini"]);
    expect(kinds("php_openssl_cafile", { trustStorePath: "/etc/php/ca.pem" })).toEqual(["file /etc/php/ca.pem"]);
    expect(demands("postgresql_client_tls", { dbUser: "ada", certFileName: "pg_service.conf" }).slice(0, 2)).toEqual([
      { kind: "named file", path: "~/.postgresql/pg_service.conf", field: "certFileName", account: "ada" },
      { kind: "account", name: "ada" },
    ]);
    expect(demands("nss_shared_db", { alias: "x", dbUser: "ada", trustStorePath: "~/.pki/nssdb" })).toEqual([
      { kind: "directory", path: "~/.pki/nssdb", field: "trustStorePath", account: "ada" },
      { kind: "account", name: "ada" },
    ]);
  });

  test("a way up, a way that is not absolute, a name with a slash: refused before anything is asked", () => {
    for (const trustStorePath of ["/etc/docker/certs.d/../../cron.d", "/etc/docker/certs.d/..", "a\u0000b"])
      expect(() => target("docker_certs_d", { trustStorePath })).toThrow();
    expect(() => demands("docker_certs_d", { trustStorePath: "certs.d" })).toThrow("must be an absolute path");
    expect(() => target("docker_certs_d", { trustStorePath: "/etc", certFileName: "../x" })).toThrow("must be one plain name");
  });

  test("the system's store is asked for where another one is to use it", () => {
    const stores = (config: AssignmentConfig) =>
      demandsOf(target("curl_ca_bundle", config), false, HOST).flatMap((each) => (each.kind === "store" ? each.type : []));
    expect(stores({})).toEqual(["curl_ca_bundle"]);
    expect(stores({ preferOsStore: true })).toEqual(["curl_ca_bundle", "linux_update_ca_certificates"]);
    expect(stores({ trustStorePath: HOST.system.bundle })).toEqual(["curl_ca_bundle", "linux_update_ca_certificates"]);
  });

  test("removing asks for programs and secrets, not for the place that was permitted once", () => {
    const config = { trustStorePath: "/srv/evil", reloadCommand: ["sh"], storePasswordRef: "env:X", alias: "x", keyPermissionMode: "0777" };
    expect(removalDemandsOf(target("java_keystore_jks", config), HOST).map(({ kind }) => kind)).toEqual(["reload", "password"]);
  });

  test("every store that the agent installs says what its config names; none has a directory of settings for its own", () => {
    expect(Object.keys(PLACES).toSorted()).toEqual([...INSTALLABLE].toSorted());
    const own = Object.values(OWN_PLACES).flatMap((each) => each(HOST).directories ?? []);
    for (const directory of ["/", "/etc", "/etc/nginx", "/etc/nginx/conf.d", "/etc/redis", "/etc/ssl", "/home/agent", "/usr"])
      expect(own).not.toContain(directory);
  });
});
