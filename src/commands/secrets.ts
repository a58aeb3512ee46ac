import type { Command } from "commander";
import { migrate } from "#db/migrate";
import { rotateSecrets } from "#maintenance/rotate";
import { askServer } from "#maintenance/socket";
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
}

async function rotate() {
  const { databaseUrl, dataDir } = readConfigOrExit();
  if (!databaseUrl && (await askServer(dataDir, "rotate-secrets", console.info))) return;
  await withDatabase(async ({ $client: sql }, config) => {
    await migrate(sql);
    await rotateSecrets(sql, config, console.info);
  });
}
