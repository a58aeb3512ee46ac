import { join } from "node:path";
import { fetchKeySet } from "#auth/oidc";
import { type Config, ConfigError, readConfig } from "#config";
import { readTlsPair, timeFault } from "#crypto/tls-files";
import { unavailability } from "#db/failures";
import { createMailTransport } from "#mail/transport";
import { createFileStore } from "#storage/files";
import { compareWithProvider, judgeClock } from "./clock";
import { examineDatabase } from "./database";
import { attempt, type Check, type Finding, failed, ok, unused, warning, withAdvice } from "./finding";

/** Checks everything that a server needs, and changes nothing. Each part is printed as it is found. */
export async function* examine(env: Record<string, string | undefined>): AsyncGenerator<Finding> {
  const config = read(env);
  if (config instanceof ConfigError) return yield { part: "configuration", ...failed(config.message) };
  yield { part: "configuration", ...ok("Every variable can be read.") };
  yield* examineDatabase(config);
  const { oidcIssuer } = config;
  const parts: [part: string, check: Check, advice?: string][] = [
    ["tokens", () => examineTokens(config), `Until ${oidcIssuer} answers, no user token can be verified.`],
    ["gateway", () => examineGateway(config)],
    ["tls", () => examineTls(config)],
    ["mail", () => examineMail(config), "Mails wait meanwhile. See that SMTP_URL names the mail server, and that it lets this machine in."],
    ["storage", () => examineStorage(config)],
  ];
  if (oidcIssuer) parts.unshift(["provider clock", async () => judgeClock(await compareWithProvider(oidcIssuer)), `The time of ${oidcIssuer} is not known.`]);
  for (const [part, check, advice] of parts) yield { part, ...(await attempt(check, advice)) };
}

function read(env: Record<string, string | undefined>): Config | ConfigError {
  try {
    return readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

async function examineTokens({ oidcIssuer }: Config) {
  if (!oidcIssuer) return ok("JWT_SECRET signs user tokens.");
  const { keys } = await fetchKeySet(oidcIssuer);
  return keys.length > 0
    ? ok(`${oidcIssuer} publishes ${keys.length} keys for user tokens.`)
    : failed(`${oidcIssuer} publishes no key: no user token can be verified.`);
}

function examineGateway({ trustedGateways, gatewaySecrets }: Config) {
  if (trustedGateways.length === 0) return unused("No gateway may vouch for organizations: every caller shows a token.");
  if (gatewaySecrets.length === 0)
    return warning("Each program on the machines of TRUSTED_GATEWAYS may act for any organization. Set GATEWAY_SECRET, which only the gateway knows.");
  return ok("Gateways show GATEWAY_SECRET.");
}

/** After which automatic renewals have renewed a certificate of 90 days or more; a shorter one has a third of its life left. */
const SOON_MS = 14 * 86_400_000;

function examineTls({ tls }: Config) {
  if (!tls) return unused("It serves http, for a proxy that has the certificate. TLS_CERT and TLS_KEY change that.");
  const pair = readTlsPair(tls);
  const now = new Date();
  const wrong = timeFault(pair, now);
  if (wrong) return failed(`The certificate in ${tls.certFile} ${wrong}: clients refuse it. Replace the files; a server that runs reads them again.`);
  const [left, life] = [pair.notAfter.getTime() - now.getTime(), pair.notAfter.getTime() - pair.notBefore.getTime()];
  const until = `The certificate in ${tls.certFile} (${pair.subject}) is valid until ${pair.notAfter.toISOString()}`;
  return left < Math.min(SOON_MS, life / 3) ? warning(`${until}. Renew it.`) : ok(`${until}.`);
}

async function examineMail({ mail }: Config) {
  if (!mail) return unused("No mails are sent. SMTP_URL, MAIL_FROM and PUBLIC_URL change that.");
  const transport = createMailTransport(mail);
  try {
    await transport.verify();
    return ok(`${transport.at} lets us in. certitude mail test sends a mail.`);
  } finally {
    transport.close();
  }
}

async function examineStorage({ dataDir, keyring }: Config) {
  const directory = join(dataDir, "objects");
  const store = createFileStore(directory, keyring);
  const key = `doctor.${crypto.randomUUID()}`;
  try {
    await store.put(key, Buffer.from("A test of the storage."));
    await store.remove(key);
  } catch (error) {
    const isFull = unavailability(error) === "exhausted" && (error as NodeJS.ErrnoException).code !== "EROFS";
    const advice = isFull ? "Make room there, or move DATA_DIR to a larger disk." : "Let this user write there, or name another directory by DATA_DIR.";
    return failed(withAdvice(new Error(`Documents cannot be stored in ${directory}: ${(error as Error).message}`), advice));
  }
  return ok(`Documents can be stored in ${directory}.`);
}
