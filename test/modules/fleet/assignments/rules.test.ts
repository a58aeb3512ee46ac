import { describe, expect, test } from "bun:test";
import { completeConfig, findConfigFault, findMalformed, patchConfig } from "#modules/fleet/assignments/rules";
import { AssignmentConfig, type ConfigField } from "#modules/fleet/assignments/schema/assignments";
import { configRulesOf } from "#modules/fleet/trust-stores/rules/catalogue";
import configFields from "#modules/fleet/trust-stores/rules/config-fields.json";
import { TRUST_STORE_TYPES } from "#modules/fleet/trust-stores/rules/store-types";

const FULL: Required<AssignmentConfig> = {
  trustStorePath: "/etc/tls",
  keychainPath: "/Library/Keychains/System.keychain",
  dbUser: "admin",
  alias: "root",
  storePasswordRef: "env:PASSWORD",
  reloadCommand: ["systemctl", "reload", "it"],
  verifyEndpoint: "https://www.example.org",
  verifyServerName: "www.example.org",
  autoRenew: true,
  removeOnRevoke: true,
  pythonVenvPath: "/opt/venv",
  envFilePath: "/etc/environment",
  useOpensslCa: true,
  nodeFlags: ["--use-openssl-ca"],
  preferOsStore: true,
  certFileName: "tls.crt",
  keyFileName: "tls.key",
  keyPermissionMode: "0600",
  racfProfile: "OWNER/RING",
  systemId: "SYS1",
  gatewayMode: true,
  preset: "postfix",
  keyDirectory: "/etc/ssl/private",
  chainFileName: "chain.pem",
  fullChainFileName: "fullchain.pem",
  combinedFileName: "all.pem",
  caFileName: "ca.crt",
  fileOwner: "root",
  fileGroup: "www-data",
  verifyStartTls: "smtp",
};
const pick = (fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, FULL[field as ConfigField]])) as AssignmentConfig;

test("the fields of a config are those of the catalogue, with its types", () => {
  const kinds = new Map<unknown, string>([
    ["string", "string"],
    ["array of string", "array"],
    ["boolean", "boolean"],
    ["string, URI", "string"],
  ]);
  const named = configFields.fields.map(({ name, type }) => [name, kinds.get(type) ?? type]);
  const fields = Object.entries<object>(AssignmentConfig.properties);
  expect(fields.map(([name, field]) => [name, "type" in field && field.type])).toEqual(named);
});

/** A user of git is told how to reach what the field would say. */
const WHAT_TO_DO = " git is configured for the account that the agent runs as: run an agent as the other account, and assign it to that one.";

describe.each(TRUST_STORE_TYPES)("a config for %s", (type) => {
  const { required, optional, defaults } = configRulesOf(type);
  const { notApplicable } = configFields.types[type];

  test("takes every field that applies, and no default replaces one", () => {
    const full = pick([...required, ...optional]);
    expect(completeConfig(type, full)).toEqual({ config: full });
  });

  test("needs what is required and gets the defaults", () => {
    expect(completeConfig(type, pick(required))).toEqual({ config: { ...defaults, ...pick(required) } });
    for (const missing of required) {
      const rest = pick(required.filter((field) => field !== missing));
      expect(completeConfig(type, rest)).toEqual({ invalid: `body.config.${missing} is required for ${type}.` });
      expect(findConfigFault(type, { [missing]: null })).toBe(`body.config.${missing} is required for ${type} and cannot be removed.`);
    }
  });

  test("refuses by name what does not apply", () => {
    for (const field of notApplicable as ConfigField[])
      expect(completeConfig(type, { ...pick(required), ...pick([field]) })).toEqual({
        invalid: `body.config.${field} does not apply to ${type}.${type === "git_http_sslcainfo" && field === "dbUser" ? WHAT_TO_DO : ""}`,
      });
  });

  test("a removed field comes back as its default", () => {
    for (const [field, value] of Object.entries(defaults)) expect(patchConfig(type, {}, { [field]: null })).toEqual({ [field]: value });
  });
});

const faultOf = (field: ConfigField, value: string) => findMalformed({ [field]: value });

describe("a value", () => {
  test.each<[ConfigField, string[]]>([
    ["verifyEndpoint", ["https://a", "https://a.example:8443/path?q", "tls://a.example:636", "tls://[::1]:443", "HTTPS://A.example"]],
    ["keyPermissionMode", ["0600", "600", "0640", "4755"]],
    ["storePasswordRef", ["env:STORE_PASSWORD", "env:_x1", "file:/run/secrets/store password", "file:///run/secret", "vault:kv/data/tls#password"]],
    ["alias", ["root", "Example Root CA 2", "a..b", "...", "ünïcode", "CN=root, O=Example"]],
    ["certFileName", ["tls.crt", ".hidden"]],
    ["trustStorePath", ["/etc/ssl", "Cert:\\LocalMachine\\Root", "namespace/secret", "./relative", "a..b/c"]],
  ])("for %s may be any of %j", (field, values) => {
    for (const value of values) expect({ value, fault: faultOf(field, value) }).toEqual({ value, fault: undefined });
  });

  test.each<[ConfigField, string[]]>([
    [
      "verifyEndpoint",
      [
        "http://a.example",
        "a.example",
        "//a.example",
        "https:",
        "https://",
        "https:a.example",
        "tls:a.example:443",
        "tls://",
        "ftp://a",
        "https://user:secret@a.example",
        "https://a b",
        "https://a:99999",
        "javascript:alert(1)//https://",
        " https://a",
        "https://a\n",
      ],
    ],
    ["keyPermissionMode", ["0800", "rw-------", "60", "00600", "0o600", "-600", "0600 "]],
    [
      "storePasswordRef",
      [
        "changeit",
        "secret",
        "env:",
        "env:A-B",
        "env:1A",
        "env:A B",
        "file:",
        "file:secret",
        "file:/",
        "file:/a/../b",
        "vault:a",
        "vault:#a",
        "vault:a#",
        "ENV:A",
        "pass:x",
      ],
    ],
    ["alias", ["..", ".", "../a", "a/b", "a\\b", "a\nb", "a\u007f"]],
    ["certFileName", ["..", "/etc/passwd", "..\\a", "a/../b"]],
    ["keyFileName", ["../tls.key", "dir/tls.key"]],
    ["trustStorePath", ["/etc/../root", "..", "../x", "a\\..\\b", "/etc/ssl/..", "/etc\n"]],
    ["envFilePath", ["/etc/../x"]],
    ["pythonVenvPath", ["/opt/../x"]],
    ["keychainPath", ["/Library/../x"]],
  ])("for %s may be none of %j, and the sentence does not repeat it", (field, values) => {
    for (const value of values) {
      const fault = faultOf(field, value);
      expect({ value, fault }).toEqual({ value, fault: expect.stringMatching(new RegExp(`^body\\.config\\.${field} must be .+\\.$`)) });
      if (value.length > 8) expect(fault).not.toContain(value);
    }
  });
});
