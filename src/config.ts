import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { coveredFamilies, type Networks, readNetworks } from "#auth/cidr";
import { providerFaults } from "#auth/provider-settings";
import { readKeyring } from "#crypto/keyring";
import { readTlsSettings } from "#crypto/tls-files";
import { directoryFault } from "#db/private-directory";
import { databaseUrlFault, parseUrl } from "#db/url";
import { KINDS, readRateLimits } from "#limits/rate-limits";
import { readMailSettings } from "#mail/settings";
import { findMisspelled } from "#text/misspelled";
import { defaultOf, VARIABLES, type Variable } from "#text/variables";

export type Config = ReturnType<typeof readConfig>;
type Environment = Record<string, string | undefined>;

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** Every fault of the environment at once, a sentence each. */
export class ConfigError extends Error {
  /** Of a command that it ends: wrong usage. */
  readonly exitCode = 2;

  constructor(readonly faults: string[]) {
    super(faults.join("\n"));
  }
}

/**
 * The whole configuration, checked once. With `DATABASE_URL` the secrets must be given; without it they are made and kept in
 * `DATA_DIR`.
 */
export function readConfig(env: Environment) {
  const faults: string[] = [];
  const fault = (message: string) => void faults.push(message);
  const text = (name: Variable) => env[name]?.trim() || undefined;
  const list = (name: Variable) => (text(name) ?? "").split(",").flatMap((each) => each.trim() || []);

  function port() {
    const value = text("PORT") ?? defaultOf("PORT");
    if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) fault(`PORT must be a number from 0 to 65535, not "${value}".`);
    return Number(value);
  }

  /** Milliseconds. */
  function requestTimeout() {
    const value = text("REQUEST_TIMEOUT") ?? defaultOf("REQUEST_TIMEOUT");
    if (!/^\d{1,3}$/.test(value) || Number(value) < 1 || Number(value) > 300)
      fault(`REQUEST_TIMEOUT must be a number of seconds from 1 to 300, not "${value}".`);
    return Number(value) * 1_000;
  }

  function url(name: Variable, protocols: string[]) {
    const value = text(name);
    if (!value) return;
    const parsed = parseUrl(value);
    if (!parsed || !protocols.includes(parsed.protocol))
      fault(`${name} must be an absolute URL that starts with ${protocols.map((each) => `${each}//`).join(" or ")}.`);
    else if (protocols.includes("https:") && !isBase(parsed))
      fault(`${name} must be an address alone, without user, query and fragment: paths are appended to it.`);
    return value.replace(/\/$/, "");
  }

  function choice<const Choice extends string>(name: Variable, choices: readonly Choice[], fallback: NoInfer<Choice>): Choice {
    const value = text(name) ?? fallback;
    const chosen = choices.find((each) => each === value);
    if (!chosen) fault(`${name} must be one of ${choices.join(", ")}, not "${value}".`);
    return chosen ?? fallback;
  }

  function keys(name: Variable, values = list(name)) {
    if (values.some((each) => each.length < 32)) fault(`${name} must have at least 32 characters.`);
    if (values.length > 2) fault(`${name} takes one key, or two while it is rotated.`);
    return values;
  }

  function gateways(): Networks {
    const { networks, unreadable } = readNetworks(text("TRUSTED_GATEWAYS") ?? "");
    for (const each of unreadable) fault(`TRUSTED_GATEWAYS: "${each}" is not an address or a CIDR block that names some machines and not all.`);
    for (const family of coveredFamilies(networks)) fault(`TRUSTED_GATEWAYS: together its networks cover every ${family} address. Name the gateways alone.`);
    return networks;
  }

  function rateLimits() {
    const { limits, unreadable } = readRateLimits(text("RATE_LIMITS"));
    for (const each of unreadable) fault(`RATE_LIMITS: "${each}" is not off, nor requests and seconds of one of ${KINDS.join(", ")}, such as user=6000/60.`);
    return limits;
  }

  function keyring(value = "") {
    const read = readKeyring(value);
    read.faults.forEach(fault);
    return read.keyring;
  }

  function userIds(name: Variable) {
    const ids = list(name).map((each) => each.toLowerCase());
    for (const id of ids) if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) fault(`${name}: "${id}" is not a user id (a UUID).`);
    return new Set(ids);
  }

  function domains(name: Variable) {
    const all = list(name).map((each) => each.toLowerCase());
    for (const each of all)
      if (!/^[^\s@.]+(\.[^\s@.]+)+$/.test(each)) fault(`${name}: "${each}" is not the domain of e-mail addresses, such as staff.example.`);
    return all;
  }

  function requireSecrets(databaseUrl: string) {
    const wrong = parseUrl(databaseUrl) && databaseUrlFault(databaseUrl);
    if (wrong) fault(wrong);
    if (list("SECRETS_KEY").length === 0) fault("SECRETS_KEY is required with DATABASE_URL (openssl rand -base64 32).");
    if (!text("JWT_SECRET") && !oidcIssuer) fault("JWT_SECRET or OIDC_ISSUER is required with DATABASE_URL: who signs the tokens?");
  }

  const databaseUrl = url("DATABASE_URL", ["postgres:", "postgresql:"]);
  const oidcIssuer = url("OIDC_ISSUER", ["https:", "http:"]);
  if (databaseUrl) requireSecrets(databaseUrl);
  const given = {
    port: port(),
    host: text("HOST") ?? defaultOf("HOST"),
    tls: readTlsSettings({ cert: text("TLS_CERT"), key: text("TLS_KEY") }, fault),
    databaseUrl,
    dataDir: resolve(text("DATA_DIR") ?? defaultOf("DATA_DIR")),
    oidcIssuer,
    jwtAudience: text("JWT_AUDIENCE"),
    oidcClientId: text("OIDC_CLIENT_ID"),
    workerApiKeys: keys("WORKER_API_KEY"),
    platformAdmins: userIds("PLATFORM_ADMINS"),
    platformStaffDomains: domains("PLATFORM_STAFF_DOMAINS"),
    trustedGateways: gateways(),
    gatewaySecrets: keys("GATEWAY_SECRET"),
    metricsTokens: keys("METRICS_TOKEN"),
    /** Set by no variable, but by `serve --demo` where the database holds nothing but the demo. */
    trustsLocalPrograms: false as boolean,
    publicUrl: url("PUBLIC_URL", ["https:", "http:"]),
    mail: readMailSettings({ url: text("SMTP_URL"), from: text("MAIL_FROM"), publicUrl: text("PUBLIC_URL") }, fault),
    corsOrigins: list("CORS_ORIGINS"),
    rateLimits: rateLimits(),
    requestTimeout: requestTimeout(),
    allowPrivateTargets: choice("ALLOW_PRIVATE_TARGETS", ["true", "false"], defaultOf("ALLOW_PRIVATE_TARGETS")) === "true",
    logLevel: choice("LOG_LEVEL", LOG_LEVELS, defaultOf("LOG_LEVEL")),
  };
  const own = { JWT_SECRET: text("JWT_SECRET"), SECRETS_KEY: list("SECRETS_KEY").join() };
  providerFaults(given).forEach(fault);
  for (const origin of given.corsOrigins)
    if (URL.parse(origin)?.origin !== origin) fault(`CORS_ORIGINS: "${origin}" is not an origin such as https://portal.example.`);
  const set = Object.keys(env).filter((name) => env[name]?.trim());
  for (const { name, meant } of findMisspelled(set, new Set(Object.keys(VARIABLES)))) fault(`${name} is not a variable of certitude. Did you mean ${meant}?`);

  const kept = databaseUrl || faults.length > 0 ? {} : keptSecrets(given.dataDir, own, fault);
  const jwtSecret = own.JWT_SECRET ?? (oidcIssuer ? undefined : kept.JWT_SECRET);
  const config = {
    ...given,
    jwtSecret: jwtSecret && keys("JWT_SECRET", [jwtSecret])[0],
    keyring: keyring(own.SECRETS_KEY || kept.SECRETS_KEY),
    /** The file in which we keep SECRETS_KEY ourselves. */
    secretsFile: kept.FILE,
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

const isBase = ({ username, password, search, hash }: URL) => `${username}${password}${search}${hash}` === "";

/** The embedded default's own secrets: made once, readable by the owner alone. */
function keptSecrets(dataDir: string, own: Environment, fault: (message: string) => void): Environment {
  const file = join(dataDir, "secrets.json");
  const wrong = directoryFault(dataDir);
  if (wrong) fault(wrong);
  if (wrong) return {};
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    if (!existsSync(file)) makeSecrets(file);
    chmodSync(file, 0o600);
    const secrets: Environment = JSON.parse(readFileSync(file, "utf8"));
    if (!secrets.JWT_SECRET || !secrets.SECRETS_KEY) throw new Error("it must hold JWT_SECRET and SECRETS_KEY");
    return { ...secrets, FILE: own.SECRETS_KEY ? undefined : file };
  } catch (error) {
    fault(`DATA_DIR: ${file} cannot be made or read: ${(error as Error).message}.`);
    return {};
  }
}

function makeSecrets(file: string) {
  const random = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify({ JWT_SECRET: random(), SECRETS_KEY: random() }, null, 2)}\n`, { mode: 0o600 });
  try {
    linkSync(draft, file); // whole or not at all, and the first process wins
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(draft);
  }
}
