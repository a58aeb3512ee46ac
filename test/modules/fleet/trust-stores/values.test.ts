import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { completeConfig, findMalformed } from "#modules/fleet/assignments/rules";
import { AssignmentConfig } from "#modules/fleet/assignments/schema/assignments";
import { configRulesOf } from "#modules/fleet/trust-stores/rules/catalogue";
import { TRUST_STORE_TYPES, type TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { STORE_VALUES, VALUES } from "#modules/fleet/trust-stores/rules/values";

const README = readFileSync(new URL("../../../../src/agent/README.md", import.meta.url), "utf8");
/** What the API says of a config, of which only this value is judged. */
function faultOf(type: TrustStoreType, field: string, value: string) {
  const complete = completeConfig(type, { trustStorePath: "/etc/tls", storePasswordRef: "env:A", envFilePath: "/etc/environment", [field]: value });
  return "invalid" in complete ? complete.invalid : undefined;
}

test("each field of a config that holds words has a rule that says what it may hold", () => {
  const wordy = Object.entries<object>(AssignmentConfig.properties).filter(([, field]) => !("type" in field && field.type === "boolean"));
  expect(Object.keys(VALUES).toSorted()).toEqual(wordy.map(([name]) => name).toSorted());
});

test("the agent's README shows each of them, in these words, and where the value goes", () => {
  for (const [field, { must, goesTo }] of Object.entries(VALUES)) expect(README).toContain(`| \`${field}\` | ${goesTo} | ${must} |`);
  for (const [type, forms] of Object.entries(STORE_VALUES))
    for (const [field, form] of Object.entries(forms)) {
      expect(README).toMatch(new RegExp(`\\| [^|]*\`${type}\`[^|]*\\| [^|]*\`${field}\`[^|]*\\|`));
      expect(README).toContain(`| ${form?.must} |`);
    }
});

describe("400: a name that a tool would read as an option, or as a file of options", () => {
  const WORDS = ["-J-agentlib:jdwp=transport=dt_socket,server=y", "-conf", "--", "-", "@/etc/passwd", "@x"];
  const NAMES = ["alias", "certFileName", "keyFileName", "dbUser", "keyDirectory", "trustStorePath", "caFileName", "verifyServerName"] as const;

  test.each(NAMES)("%s", (field) => {
    for (const value of WORDS) expect(findMalformed({ [field]: value })).toStartWith(`body.config.${field} must be `);
  });

  test.each(TRUST_STORE_TYPES.filter((type) => [...configRulesOf(type).required, ...configRulesOf(type).optional].includes("alias")))("alias of %s", (type) => {
    const needed = Object.fromEntries(configRulesOf(type).required.map((field) => [field, "/etc/x"]));
    for (const alias of WORDS)
      expect(completeConfig(type, { alias, ...needed })).toEqual({ invalid: expect.stringMatching(/^body\.config\.alias must be one plain name/) });
  });
});

describe("400: an anchor's name that a script of the system would split, expand or rename", () => {
  const BAD = ["*", "a*", "[a-z]", "a b", "a,b", "a(b)", ".hidden", "_x", "ä", "a'b", "$(id)", "`id`", "a;b", "a?", "~", "a=b"];
  const GOOD = ["corp", "Corp-2.0_a+b", "0x", "a", "certitude-0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01"];

  test.each([
    "linux_update_ca_certificates",
    "linux_update_ca_trust",
    "openssl_ca_dir",
    "docker_certs_d",
    "podman_certs_d",
    "containerd_certs_d",
  ] satisfies TrustStoreType[])("%s", (type) => {
    for (const value of BAD)
      for (const field of ["alias", "certFileName"])
        expect(completeConfig(type, { trustStorePath: "/etc/tls", [field]: value })).toEqual({
          invalid: expect.stringContaining(`body.config.${field} must be one plain name of the letters A to Z`),
        });
    for (const alias of GOOD) expect(completeConfig(type, { trustStorePath: "/etc/tls", alias })).toHaveProperty("config.alias", alias);
  });

  test("elsewhere an alias is a name for people", () => {
    for (const alias of ["Example Root CA 2", "CN=root, O=Example", "ünïcode", "a*"])
      for (const type of ["java_cacerts", "nss_shared_db", "pkcs11_token"] satisfies TrustStoreType[])
        expect(faultOf(type, "alias", alias) ?? "").not.toContain("alias");
  });
});
