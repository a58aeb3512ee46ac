import type { Command } from "commander";
import { showDemo } from "#demo/demo";
import { createLog } from "#log";
import { stopOnSignal } from "#shutdown";
import { startServer } from "#startup";
import { CommandError, readConfigOrExit } from "./environment";

type Options = { demo?: boolean };

export const addServe = (program: Command) =>
  program
    .command("serve")
    .description("Start the server.")
    .option("--demo", "make a demo organization with real certificates, and print what to try")
    .addHelpText(
      "after",
      "\nWithout DATABASE_URL it starts an embedded Postgres, its files under DATA_DIR.\nSIGTERM and SIGINT stop it: running requests get 10 seconds; a second signal ends it at once.",
    )
    .action(serve);

async function serve({ demo = false }: Options) {
  const config = readConfigOrExit();
  if (demo && !config.jwtSecret) throw new CommandError("--demo needs JWT_SECRET: where an identity provider alone signs the tokens it has none to show.", 2);
  const log = createLog(config.logLevel);
  const server = await startServer(config, log, demo);
  const stopping = new AbortController();
  const fail = stopOnSignal(() => {
    stopping.abort();
    return server.stop();
  }, log);
  if (demo) await showDemo(server, stopping.signal).catch((error: Error) => fail(error.message));
}
