import { Command } from "commander";
import { version } from "../../package.json";
import { addAdminCommand } from "./admin";
import { addAgent } from "./agent/agent";
import { addApiToken } from "./api-token";
import { addBackup, addRestore } from "./backup";
import { addCompletion } from "./completion";
import { addCounts } from "./counts";
import { addDoctor } from "./doctor/doctor";
import { addHealthcheck } from "./healthcheck";
import { addInstall } from "./install/install";
import { addMail } from "./mail";
import { addMigrate } from "./migrate";
import { addMonitoring } from "./monitoring/monitoring";
import { addOpenapi } from "./openapi";
import { runCommand } from "./run-command";
import { addSecrets } from "./secrets";
import { addServe } from "./serve";
import { addToken } from "./token";
import { VARIABLE_LIST } from "./variables-help";

const CONFIGURATION = `
Configuration (environment; certitude serve --help says more of each):
${VARIABLE_LIST}

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration.
SIGTERM lets running requests end; a second signal ends the process at once.
admin, token, api-token, secrets, counts and backup also work while a server has the embedded database: it does it for them.`;

function createProgram() {
  const program = new Command("certitude")
    .description("Certificate and compliance management server in one executable.")
    .version(version)
    .showHelpAfterError("(certitude --help shows what there is)")
    .addHelpText("after", CONFIGURATION)
    .exitOverride();
  for (const add of [
    addServe,
    addAgent,
    addMigrate,
    addToken,
    addApiToken,
    addAdminCommand,
    addSecrets,
    addCounts,
    addMail,
    addBackup,
    addRestore,
    addOpenapi,
    addDoctor,
    addHealthcheck,
    addInstall,
    addMonitoring,
    addCompletion,
  ])
    add(program);
  for (const command of program.commands) command.exitOverride().showHelpAfterError();
  return program;
}

/** Runs one command of the executable; without one, it shows what there is. */
export const run = (argv: string[]) => runCommand(createProgram(), argv.length > 2 ? argv : [...argv, "--help"]);
