import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError, readConfig } from "#config";

const directory = mkdtempSync(join(tmpdir(), "certitude-config-"));
afterAll(() => rmSync(directory, { recursive: true }));

const given = {
  DATABASE_URL: "postgres://localhost/none",
  JWT_SECRET: "x".repeat(32),
  SECRETS_KEY: Buffer.alloc(32).toString("base64"),
  JWT_AUDIENCE: "certitude",
};

function faultsOf(env: Record<string, string | undefined>) {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

const NOT_A_BASE = "PUBLIC_URL must be an address alone, without user, query and fragment: paths are appended to it.";

const FAULTS: [string, string, string][] = [
  ["PORT", "80x", 'PORT must be a number from 0 to 65535, not "80x".'],
  ["PORT", "65536", 'PORT must be a number from 0 to 65535, not "65536".'],
  ["PORT", "-1", 'PORT must be a number from 0 to 65535, not "-1".'],
  ["DATABASE_URL", "mysql://localhost/x", "DATABASE_URL must be an absolute URL that starts with postgres:// or postgresql://."],
  ["DATABASE_URL", "localhost:5432", "DATABASE_URL must be an absolute URL that starts with postgres:// or postgresql://."],
  [
    "DATABASE_URL",
    "postgres://localhost/x?sslmode=bogus",
    'DATABASE_URL: sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full, not "bogus".',
  ],
  ["JWT_SECRET", "short", "JWT_SECRET must have at least 32 characters."],
  ["WORKER_API_KEY", `${"x".repeat(32)},short`, "WORKER_API_KEY must have at least 32 characters."],
  ["SECRETS_KEY", "c2hvcnQ=", "SECRETS_KEY must be 32 bytes in base64 (openssl rand -base64 32), or several such, comma-separated."],
  ["SECRETS_KEY", `${given.SECRETS_KEY}, short`, "SECRETS_KEY must be 32 bytes in base64 (openssl rand -base64 32), or several such, comma-separated."],
  ["SECRETS_KEY", `${given.SECRETS_KEY}, ${given.SECRETS_KEY}`, "SECRETS_KEY names a key twice."],
  ["OIDC_ISSUER", "login.example", "OIDC_ISSUER must be an absolute URL that starts with https:// or http://."],
  ["JWT_AUDENCE", "certitude", "JWT_AUDENCE is not a variable of certitude. Did you mean JWT_AUDIENCE?"],
  ["PUBLIC_URL", "ftp://portal.example", "PUBLIC_URL must be an absolute URL that starts with https:// or http://."],
  ["PUBLIC_URL", "https://portal.example/?lang=en", NOT_A_BASE],
  ["PUBLIC_URL", "https://portal.example/#start", NOT_A_BASE],
  ["PUBLIC_URL", "https://ada:secret@portal.example", NOT_A_BASE],
  ["PLATFORM_STAFF_DOMAINS", "@staff.example", 'PLATFORM_STAFF_DOMAINS: "@staff.example" is not the domain of e-mail addresses, such as staff.example.'],
  [
    "PLATFORM_STAFF_DOMAINS",
    "one.example two.example",
    'PLATFORM_STAFF_DOMAINS: "one.example two.example" is not the domain of e-mail addresses, such as staff.example.',
  ],
  ["PLATFORM_ADMINS", "ada", 'PLATFORM_ADMINS: "ada" is not a user id (a UUID).'],
  ["TRUSTED_GATEWAYS", "0.0.0.0/0", 'TRUSTED_GATEWAYS: "0.0.0.0/0" is not an address or a CIDR block that names some machines and not all.'],
  ["TRUSTED_GATEWAYS", "gateway", 'TRUSTED_GATEWAYS: "gateway" is not an address or a CIDR block that names some machines and not all.'],
  ["GATEWAY_SECRET", `${"x".repeat(32)},short`, "GATEWAY_SECRET must have at least 32 characters."],
  ["GATEWAY_SECRET", ["x", "y", "z"].map((each) => each.repeat(32)).join(), "GATEWAY_SECRET takes one key, or two while it is rotated."],
  ["METRICS_TOKEN", "short", "METRICS_TOKEN must have at least 32 characters."],
  ["CORS_ORIGINS", "*", 'CORS_ORIGINS: "*" is not an origin such as https://portal.example.'],
  ["CORS_ORIGINS", "https://portal.example/", 'CORS_ORIGINS: "https://portal.example/" is not an origin such as https://portal.example.'],
  [
    "RATE_LIMITS",
    "user=lots",
    'RATE_LIMITS: "user=lots" is not off, nor requests and seconds of one of user, api-token, agent, ingest-key, gateway, address, such as user=6000/60.',
  ],
  ["REQUEST_TIMEOUT", "0", 'REQUEST_TIMEOUT must be a number of seconds from 1 to 300, not "0".'],
  ["REQUEST_TIMEOUT", "5s", 'REQUEST_TIMEOUT must be a number of seconds from 1 to 300, not "5s".'],
  ["MAIL_FROM", "ops@example.org", "SMTP_URL is required with MAIL_FROM: the mail server, such as smtp://user:password@mail.example:587."],
  ["LOG_LEVEL", "loud", 'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud".'],
];

describe("the configuration", () => {
  test.each(FAULTS)("%s=%s is a fault", (name, value, sentence) => {
    expect(faultsOf({ ...given, [name]: value })).toEqual([sentence]);
  });

  test("takes a DATABASE_URL with a user and a socket's directory", () => {
    expect(faultsOf({ ...given, DATABASE_URL: "postgres://ada@/shop?host=/run/postgresql" })).toEqual([]);
  });

  test("names every fault at once", () => {
    const one = Object.fromEntries(FAULTS.map(([name, value]) => [name, value]));
    expect(faultsOf({ ...given, ...one }).length).toBe(Object.keys(one).length);
  });

  const NOT_HTTPS = "OIDC_ISSUER must be https; http only on this machine (localhost, 127.0.0.0/8, [::1]).";
  test.each(["http://login.example", "http://127.0.0.1.evil.example", "http://localhost.evil.example", "http://[::2]", "http://10.0.0.1", "http://128.0.0.1"])(
    "OIDC_ISSUER=%s would show tokens' keys to the network: a fault",
    (issuer) => {
      expect(faultsOf({ ...given, OIDC_ISSUER: issuer })).toEqual([NOT_HTTPS]);
    },
  );

  test.each([
    "https://login.example",
    "https://login.example/realms/a/",
    "http://localhost:8080",
    "http://127.0.0.1",
    "http://127.8.9.10:1",
    "http://[::1]:80",
  ])("OIDC_ISSUER=%s is fine", (issuer) => {
    expect(faultsOf({ ...given, OIDC_ISSUER: issuer })).toEqual([]);
  });

  test("OIDC_CLIENT_ID without OIDC_ISSUER: a fault", () => {
    expect(faultsOf({ ...given, OIDC_CLIENT_ID: "console" })).toEqual(["OIDC_CLIENT_ID needs OIDC_ISSUER: at which provider is the console a client?"]);
  });

  test("requires JWT_AUDIENCE with OIDC_ISSUER, and with it alone", () => {
    const sentence = "JWT_AUDIENCE is required with OIDC_ISSUER: without it the provider's tokens for any other application would count.";
    for (const audience of [undefined, "", " "]) {
      expect(faultsOf({ ...given, JWT_AUDIENCE: audience })).toEqual([]);
      expect(faultsOf({ ...given, JWT_AUDIENCE: audience, OIDC_ISSUER: "https://login.example" })).toEqual([sentence]);
    }
  });

  test("requires the secrets with DATABASE_URL", () => {
    expect(faultsOf({ DATABASE_URL: given.DATABASE_URL })).toEqual([
      "SECRETS_KEY is required with DATABASE_URL (openssl rand -base64 32).",
      "JWT_SECRET or OIDC_ISSUER is required with DATABASE_URL: who signs the tokens?",
    ]);
    expect(faultsOf({ ...given, JWT_SECRET: undefined, OIDC_ISSUER: "https://login.example", JWT_AUDIENCE: "certitude" })).toEqual([]);
  });

  test("takes several keys, the first of which seals", () => {
    const other = Buffer.alloc(32, 1).toString("base64");
    const { keyring } = readConfig({ ...given, SECRETS_KEY: ` ${other} , ${given.SECRETS_KEY}` });
    expect(keyring.ids()).toEqual([other, given.SECRETS_KEY].flatMap((SECRETS_KEY) => readConfig({ ...given, SECRETS_KEY }).keyring.ids()));
  });

  test("takes blanks for nothing, and knows its defaults", () => {
    const config = readConfig({ ...given, PORT: " ", HOST: "", TRUSTED_GATEWAYS: "", CORS_ORIGINS: " , " });
    expect(config).toMatchObject({ port: 3000, host: "127.0.0.1", corsOrigins: [], workerApiKeys: [], trustedGateways: [], logLevel: "info" });
  });
});

describe("the secrets of the embedded default", () => {
  test("are not made for a configuration with a fault, such as a DATA_DIR that is misspelled", () => {
    const dataDir = join(directory, "never");
    expect(faultsOf({ DATA_DIR: dataDir, DATA_DIRS: "/var/lib/certitude" })).toEqual(["DATA_DIRS is not a variable of certitude. Did you mean DATA_DIR?"]);
    expect(faultsOf({ DATA_DIR: dataDir, PORT: "x" }).length).toBe(1);
    expect(existsSync(dataDir)).toBe(false);
  });

  const file = (dataDir: string) => join(dataDir, "secrets.json");

  test("are made once, for the owner alone, and used again", () => {
    const dataDir = join(directory, "new");
    const first = readConfig({ DATA_DIR: dataDir });
    const text = readFileSync(file(dataDir), "utf8");
    expect(first.keyring.ids()).toHaveLength(1);
    expect(first.jwtSecret?.length).toBeGreaterThanOrEqual(32);
    expect(statSync(file(dataDir)).mode & 0o777).toBe(0o600);
    const second = readConfig({ DATA_DIR: dataDir });
    expect([second.jwtSecret, second.keyring.ids()]).toEqual([first.jwtSecret, first.keyring.ids()]);
    expect(readFileSync(file(dataDir), "utf8")).toBe(text);
  });

  test("yield to those of the environment; an identity provider needs no JWT_SECRET", () => {
    const dataDir = join(directory, "own");
    expect(readConfig({ DATA_DIR: dataDir, JWT_SECRET: given.JWT_SECRET }).jwtSecret).toBe(given.JWT_SECRET);
    expect(readConfig({ DATA_DIR: dataDir, OIDC_ISSUER: "https://login.example", JWT_AUDIENCE: "certitude" }).jwtSecret).toBeUndefined();
  });

  test.each(["", "not JSON", "{}", '{"JWT_SECRET":"x"}'])("are a fault of DATA_DIR when their file holds %j", (text) => {
    const dataDir = join(directory, crypto.randomUUID());
    mkdirSync(dataDir);
    writeFileSync(file(dataDir), text);
    expect(faultsOf({ DATA_DIR: dataDir })[0]).toStartWith(`DATA_DIR: ${file(dataDir)} cannot be made or read: `);
  });

  test("are a fault of DATA_DIR when it is no directory", () => {
    writeFileSync(join(directory, "file"), "");
    expect(faultsOf({ DATA_DIR: join(directory, "file") })[0]).toStartWith("DATA_DIR: ");
  });
});
