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

const CONFIGURATION = `
Configuration (environment):
  PORT 3000 · HOST 127.0.0.1          where it listens
  TLS_CERT · TLS_KEY                  PEM files of its certificate and key: it then serves https
  DATABASE_URL                        Postgres 15 or later; absent: embedded under DATA_DIR
  DATA_DIR ./data                     files of the embedded default, its secrets too
  JWT_SECRET                          signs user tokens (HS256), at least 32 characters
  OIDC_ISSUER · JWT_AUDIENCE          the identity provider whose user tokens count
  OIDC_CLIENT_ID                      signs people in to the console there
  SECRETS_KEY                         seals secrets at rest: 32 bytes, base64; of several the first seals
  WORKER_API_KEY                      key of the workers; two, comma-separated, while rotating
  PLATFORM_ADMINS                     user ids of the platform's staff
  PLATFORM_STAFF_DOMAINS              e-mail domains of the staff
  TRUSTED_GATEWAYS                    who may vouch by organization headers alone; none by default
  GATEWAY_SECRET                      what a gateway must then send as x-gateway-secret
  METRICS_TOKEN                       bearer token that reads /metrics
  ALLOW_PRIVATE_TARGETS false         whether connections may name private addresses
  PUBLIC_URL · CORS_ORIGINS           how browsers reach it; which origins may call it
  SMTP_URL · MAIL_FROM                mail server and sender of invitations (needs PUBLIC_URL)
  RATE_LIMITS                         requests and seconds of a caller: user=6000/60,agent=off; or off
  REQUEST_TIMEOUT 5                   seconds that a request may take, besides the time of its body
  LOG_LEVEL info                      fatal, error, warn, info, debug, trace or silent

Exit codes: 0 done, 1 failed, 2 wrong usage.`;

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
