import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { desired } from "../../support/agent/agent-host";
import { newKnowingHost, newParties, type Parties, put, testBehaviour } from "../../support/agent/store-behaviour";
import { type AgentHost, trusts, variablesIn } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

let parties: Parties;
beforeAll(async () => {
  parties = await newParties();
});
afterAll(() => parties.end());

const RUBY = "Net::HTTP.get(URI(ARGV[0]))";
const rubyTrusts = (url: string, environment: Record<string, string>) => trusts(["ruby", "-rnet/http", "-e", RUBY, url], environment);

/** PHP's own TLS and its curl must say the same. */
const PHP = `
  $own = @file_get_contents($argv[1], false, stream_context_create());
  $curl = curl_init($argv[1]); curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);
  $got = curl_exec($curl);
  if (($own === false) !== ($got === false)) { fwrite(STDERR, "they differ: " . (error_get_last()["message"] ?? curl_error($curl))); exit(2); }
  if ($got === false) { fwrite(STDERR, "certificate: " . curl_error($curl)); exit(curl_errno($curl) === 60 ? 1 : 2); }`;
async function phpTrusts(url: string, scanned?: string) {
  const read = [...readdirSync("/etc/php")].filter((each) => /^\d/.test(each)).map((each) => `/etc/php/${each}/cli/conf.d`);
  return trusts(["php", "-r", PHP, url], scanned === undefined ? {} : { PHP_INI_SCAN_DIR: [...read, scanned].join(":") });
}

describe("ruby_openssl", () => {
  const envFileOf = ({ pathOf }: AgentHost) => pathOf("etc/environment");
  testBehaviour("SSL_CERT_FILE", () => parties, {
    storeType: "ruby_openssl",
    config: (agent) => ({ envFilePath: envFileOf(agent) }),
    prepare: (agent) => put(envFileOf(agent), "LANG=C.UTF-8\n"),
    isTrusting: async (agent, url) => rubyTrusts(url, await variablesIn(envFileOf(agent))),
    keepsRoots: true,
    spoil: (agent) => [envFileOf(agent), `${envFileOf(agent)}.ruby_openssl.pem`],
    elsewhere: (agent) => ({ envFilePath: envFileOf(agent), preferOsStore: true }),
    isElsewhere: (agent) => !existsSync(`${envFileOf(agent)}.ruby_openssl.pem`),
  });
});

describe("php_openssl_cafile", () => {
  const fileOf = ({ pathOf }: AgentHost) => pathOf("php/certitude.ini");
  testBehaviour("an ini file", () => parties, {
    storeType: "php_openssl_cafile",
    config: (agent) => ({ envFilePath: fileOf(agent) }),
    prepare: (agent) => put(fileOf(agent), "; theirs\nmemory_limit = 64M\n"),
    isTrusting: (agent, url) => phpTrusts(url, dirname(fileOf(agent))),
    keepsRoots: true,
    spoil: (agent) => [fileOf(agent), `${fileOf(agent)}.php_openssl_cafile.pem`],
    elsewhere: (agent) => ({ envFilePath: fileOf(agent), trustStorePath: agent.pathOf("a place/bundle.pem") }),
    isElsewhere: ({ pathOf }) => existsSync(pathOf("a place/bundle.pem")),
  });

  test("failed: another owner's setting; a path that an ini file cannot hold", async () => {
    const agent = await newKnowingHost(parties);
    put(fileOf(agent), 'openssl.cafile="/etc/ssl/theirs.pem" ; ours\n');
    const item = (config: object) =>
      desired(parties.authority.root, { trustStoreType: "php_openssl_cafile", config: { envFilePath: fileOf(agent), ...config } });
    expect(await agent.pass(item({}))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("sets openssl.cafile to ‹/etc/ssl/theirs.pem›, and not by this agent"),
    });
    expect(await agent.pass(item({ trustStorePath: agent.pathOf("$HOME.pem") }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("a quote, a dollar or a backslash"),
    });
    agent.remove();
  });

  test("by default in the directory of settings of PHP's command line", async () => {
    const agent = await newKnowingHost(parties);
    const item = desired(parties.authority.root, { trustStoreType: "php_openssl_cafile", config: {} });
    try {
      expect(await phpTrusts(parties.server.url)).toBe(false);
      expect(await agent.pass(item)).toMatchObject({ state: "installed" });
      expect(await phpTrusts(parties.server.url)).toBe(true);
      expect(await agent.withdraw(item)).toEqual({ state: "removed" });
      expect(await phpTrusts(parties.server.url)).toBe(false);
      expect(made()).toEqual([]);
    } finally {
      for (const each of made()) rmSync(each);
      agent.remove();
    }
  });
});

/** What the agent has made in the directories of PHP's own settings. */
const made = () =>
  readdirSync("/etc/php", { recursive: true, encoding: "utf8" })
    .filter((each) => each.includes("certitude"))
    .map((each) => `/etc/php/${each}`);
