import type { Command } from "commander";
import { ConfigError } from "#config";
import { migrate } from "#db/migrate";
import { checkKeys } from "#db/secret-keys";
import { rotateSecrets } from "#maintenance/rotate";
import { askServer } from "#maintenance/socket";
import { trustForAdministrator } from "#maintenance/stamping";
import { readConfigOrExit, withDatabase } from "./environment";

export function addSecrets(program: Command) {
  const secrets = program.command("secrets").description("Rotate SECRETS_KEY, the key that seals secrets at rest.");
  secrets
    .command("rotate")
    .exitOverride()
    .showHelpAfterError()
    .description("Seal everything with the first key of SECRETS_KEY. Servers may run meanwhile; it may be killed and run again.")
    .addHelpText("after", "\nWhere the secrets are kept in DATA_DIR/secrets.json it makes the new key itself.")
    .action(rotate);
  secrets
    .command("trust")
    .exitOverride()
    .showHelpAfterError()
    .description("Stamp what stands in the database as if this server had ordered it, so that hosts get what was held.")
    .addHelpText(
      "after",
      "\nLook first at what is held (heldSince of the deployments, and the events that end in .held), and at every ORG_ADMIN, API token and platform admin: who wrote them can command hosts.",
    )
    .action(trust);
}

async function trust() {
  const { databaseUrl, dataDir } = readConfigOrExit();
  if (!databaseUrl && (await askServer(dataDir, "trust-rows", console.info))) return;
  await withDatabase(async ({ $client: sql }, { keyring }) => {
    await migrate(sql);
    const wrongKeys = await checkKeys(sql, keyring);
    if (wrongKeys) throw new ConfigError([wrongKeys]);
    await trustForAdministrator(sql, keyring, console.info);
  });
}

async function rotate() {
  const { databaseUrl, dataDir } = readConfigOrExit();
  if (!databaseUrl && (await askServer(dataDir, "rotate-secrets", console.info))) return;
  await withDatabase(async ({ $client: sql }, config) => {
    await migrate(sql);
    await rotateSecrets(sql, config, console.info);
  });
}
