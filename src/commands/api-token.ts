import { type Command, InvalidArgumentError, Option } from "commander";
import { hashApiToken, newApiToken } from "#modules/people/api-tokens/rules";
import { readDuration, readUuid } from "./arguments";
import { administer } from "./environment";

const ROLES = ["ORG_ADMIN", "ORG_MEMBER"] as const;
const TEN_YEARS = 3_650 * 86_400;

type Options = { organization: string; name: string; role: (typeof ROLES)[number]; expires?: number };

export function addApiToken(program: Command) {
  const apiToken = program.command("api-token").description("Make API tokens: credentials of machines, for one organization.");
  apiToken
    .command("create")
    .exitOverride()
    .showHelpAfterError()
    .description("Make an API token of an organization, and print it, this once.")
    .requiredOption("--organization <uuid>", "id of the organization", readUuid)
    .requiredOption("--name <name>", "what it is for", readName)
    .addOption(new Option("--role <role>", "what it may do").choices(ROLES).makeOptionMandatory())
    .option("--expires <duration>", "when it ends: 12h, 90d; never by default", readLifetime)
    .action(create);
}

async function create({ organization, name, role, expires }: Options) {
  const token = newApiToken();
  const expiresAt = expires && new Date(Date.now() + expires * 1_000).toISOString();
  await administer("create-api-token", { organizationId: organization, name, role, tokenHash: hashApiToken(token), ...(expiresAt && { expiresAt }) });
  console.info(token);
}

function readName(value: string) {
  const name = value.trim();
  if (name === "" || name.length > 200) throw new InvalidArgumentError("It must be text of 1 to 200 characters.");
  return name;
}

function readLifetime(value: string) {
  const seconds = readDuration(value);
  if (seconds > TEN_YEARS) throw new InvalidArgumentError("It must be at most ten years: 3650d.");
  return seconds;
}
