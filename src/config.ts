import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { databaseUrlFault } from "./db/url";
import { type Networks, readNetworks } from "./guards/networks";

export type Config = ReturnType<typeof readConfig>;
type Environment = Record<string, string | undefined>;

const LOOPBACK = "127.0.0.1/32,::1/128";
const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** Every fault of the environment at once, a sentence each. */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(faults.join("\n"));
  }
}

/** The whole configuration, checked once. With `DATABASE_URL` the secrets must be given; without it they are made and kept in `DATA_DIR`. */
export function readConfig(env: Environment) {
  const faults: string[] = [];
  const fault = (message: string) => void faults.push(message);
  const text = (name: string) => env[name]?.trim() || undefined;
  const list = (name: string) => (text(name) ?? "").split(",").flatMap((each) => each.trim() || []);

  function port() {
    const value = text("PORT") ?? "3000";
    if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) fault(`PORT must be a number from 0 to 65535, not "${value}".`);
    return Number(value);
  }

  function url(name: string, protocols: string[]) {
    const value = text(name);
    if (!value) return;
    const parsed = URL.parse(value);
    if (!parsed || !protocols.includes(parsed.protocol))
      fault(`${name} must be an absolute URL that starts with ${protocols.map((each) => `${each}//`).join(" or ")}.`);
    return value.replace(/\/$/, "");
  }

  function choice<const Choice extends string>(name: string, choices: readonly Choice[], fallback: NoInfer<Choice>): Choice {
    const value = text(name) ?? fallback;
    const chosen = choices.find((each) => each === value);
    if (!chosen) fault(`${name} must be one of ${choices.join(", ")}, not "${value}".`);
    return chosen ?? fallback;
  }

  function keys(name: string, values: string[]) {
    if (values.some((each) => each.length < 32)) fault(`${name} must have at least 32 characters.`);
    return values;
  }

  function gateways(): Networks {
    const { networks, unreadable } = readNetworks(text("TRUSTED_GATEWAYS") ?? LOOPBACK);
    for (const each of unreadable) fault(`TRUSTED_GATEWAYS: "${each}" is not an address or a CIDR block that names some machines and not all.`);
    return networks;
  }

  function secretsKey(value: string | undefined) {
    const bytes = Buffer.from(value ?? "", "base64");
    if (value !== undefined && bytes.length !== 32) fault("SECRETS_KEY must be 32 bytes in base64 (openssl rand -base64 32).");
    return bytes;
  }

  function userIds(name: string) {
    const ids = list(name).map((each) => each.toLowerCase());
    for (const id of ids) if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) fault(`${name}: "${id}" is not a user id (a UUID).`);
    return new Set(ids);
  }

  function requireSecrets(databaseUrl: string) {
    const wrong = URL.canParse(databaseUrl) && databaseUrlFault(databaseUrl);
    if (wrong) fault(wrong);
    if (!text("SECRETS_KEY")) fault("SECRETS_KEY is required with DATABASE_URL (openssl rand -base64 32).");
    if (!text("JWT_SECRET") && !oidcIssuer) fault("JWT_SECRET or OIDC_ISSUER is required with DATABASE_URL: who signs the tokens?");
  }

  const databaseUrl = url("DATABASE_URL", ["postgres:", "postgresql:"]);
  const dataDir = resolve(text("DATA_DIR") ?? "./data");
  const oidcIssuer = url("OIDC_ISSUER", ["https:", "http:"]);
  if (databaseUrl) requireSecrets(databaseUrl);
  const kept = databaseUrl || faults.length > 0 ? {} : keptSecrets(dataDir, fault);
  const jwtSecret = text("JWT_SECRET") ?? (oidcIssuer ? undefined : kept.JWT_SECRET);

  const config = {
    port: port(),
    host: text("HOST") ?? "127.0.0.1",
    databaseUrl,
    dataDir,
    jwtSecret: jwtSecret && keys("JWT_SECRET", [jwtSecret])[0],
    oidcIssuer,
    jwtAudience: text("JWT_AUDIENCE"),
    workerApiKeys: keys("WORKER_API_KEY", list("WORKER_API_KEY")),
    platformAdmins: userIds("PLATFORM_ADMINS"),
    platformStaffDomains: list("PLATFORM_STAFF_DOMAINS").map((each) => each.toLowerCase()),
    trustedGateways: gateways(),
    onlyLoopbackGateways: !text("TRUSTED_GATEWAYS"),
    secretsKey: secretsKey(text("SECRETS_KEY") ?? kept.SECRETS_KEY),
    publicUrl: url("PUBLIC_URL", ["https:", "http:"]),
    corsOrigins: list("CORS_ORIGINS"),
    allowPrivateTargets: choice("ALLOW_PRIVATE_TARGETS", ["true", "false"], "false") === "true",
    logLevel: choice("LOG_LEVEL", LOG_LEVELS, "info"),
  };
  for (const origin of config.corsOrigins)
    if (URL.parse(origin)?.origin !== origin) fault(`CORS_ORIGINS: "${origin}" is not an origin such as https://portal.example.`);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** The embedded default's own secrets: made once, readable by the owner alone. */
function keptSecrets(dataDir: string, fault: (message: string) => void): Environment {
  const file = join(dataDir, "secrets.json");
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    if (!existsSync(file)) makeSecrets(file);
    chmodSync(file, 0o600);
    const secrets: Environment = JSON.parse(readFileSync(file, "utf8"));
    if (!secrets.JWT_SECRET || !secrets.SECRETS_KEY) throw new Error("it must hold JWT_SECRET and SECRETS_KEY");
    return secrets;
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
