import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError, readConfig } from "../../src/config";

const directory = mkdtempSync(join(tmpdir(), "certitude-config-"));
afterAll(() => rmSync(directory, { recursive: true }));

const given = {
  DATABASE_URL: "postgres://localhost/none",
  JWT_SECRET: "x".repeat(32),
  SECRETS_KEY: Buffer.alloc(32).toString("base64"),
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
  ["SECRETS_KEY", "c2hvcnQ=", "SECRETS_KEY must be 32 bytes in base64 (openssl rand -base64 32)."],
  ["OIDC_ISSUER", "login.example", "OIDC_ISSUER must be an absolute URL that starts with https:// or http://."],
  ["PUBLIC_URL", "ftp://portal.example", "PUBLIC_URL must be an absolute URL that starts with https:// or http://."],
  ["PLATFORM_ADMINS", "ada", 'PLATFORM_ADMINS: "ada" is not a user id (a UUID).'],
  ["TRUSTED_GATEWAYS", "0.0.0.0/0", 'TRUSTED_GATEWAYS: "0.0.0.0/0" is not an address or a CIDR block that names some machines and not all.'],
  ["TRUSTED_GATEWAYS", "gateway", 'TRUSTED_GATEWAYS: "gateway" is not an address or a CIDR block that names some machines and not all.'],
  ["CORS_ORIGINS", "*", 'CORS_ORIGINS: "*" is not an origin such as https://portal.example.'],
  ["CORS_ORIGINS", "https://portal.example/", 'CORS_ORIGINS: "https://portal.example/" is not an origin such as https://portal.example.'],
  ["LOG_LEVEL", "loud", 'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud".'],
];

describe("the configuration", () => {
  test.each(FAULTS)("%s=%s is a fault", (name, value, sentence) => {
    expect(faultsOf({ ...given, [name]: value })).toEqual([sentence]);
  });

  test("names every fault at once", () => {
    const one = Object.fromEntries(FAULTS.map(([name, value]) => [name, value]));
    expect(faultsOf(one).length).toBe(Object.keys(one).length);
  });

  test("requires the secrets with DATABASE_URL", () => {
    expect(faultsOf({ DATABASE_URL: given.DATABASE_URL })).toEqual([
      "SECRETS_KEY is required with DATABASE_URL (openssl rand -base64 32).",
      "JWT_SECRET or OIDC_ISSUER is required with DATABASE_URL: who signs the tokens?",
    ]);
    expect(faultsOf({ ...given, JWT_SECRET: undefined, OIDC_ISSUER: "https://login.example" })).toEqual([]);
  });

  test("takes blanks for nothing, and knows its defaults", () => {
    const config = readConfig({ ...given, PORT: " ", HOST: "", TRUSTED_GATEWAYS: "", CORS_ORIGINS: " , " });
    expect(config).toMatchObject({ port: 3000, host: "127.0.0.1", corsOrigins: [], workerApiKeys: [], onlyLoopbackGateways: true, logLevel: "info" });
  });
});

describe("the secrets of the embedded default", () => {
  const file = (dataDir: string) => join(dataDir, "secrets.json");

  test("are made once, for the owner alone, and used again", () => {
    const dataDir = join(directory, "new");
    const first = readConfig({ DATA_DIR: dataDir });
    const text = readFileSync(file(dataDir), "utf8");
    expect(first.secretsKey.length).toBe(32);
    expect(first.jwtSecret?.length).toBeGreaterThanOrEqual(32);
    expect(statSync(file(dataDir)).mode & 0o777).toBe(0o600);
    expect(readConfig({ DATA_DIR: dataDir })).toMatchObject({ jwtSecret: first.jwtSecret, secretsKey: first.secretsKey });
    expect(readFileSync(file(dataDir), "utf8")).toBe(text);
  });

  test("yield to those of the environment; an identity provider needs no JWT_SECRET", () => {
    const dataDir = join(directory, "own");
    expect(readConfig({ DATA_DIR: dataDir, JWT_SECRET: given.JWT_SECRET }).jwtSecret).toBe(given.JWT_SECRET);
    expect(readConfig({ DATA_DIR: dataDir, OIDC_ISSUER: "https://login.example" }).jwtSecret).toBeUndefined();
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
