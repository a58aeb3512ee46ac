import { type Command, InvalidArgumentError, Option } from "commander";
import { createApiToken } from "#modules/people/api-tokens/queries";
import { hashApiToken, newApiToken } from "#modules/people/api-tokens/rules";
import { createOrganizationLookup } from "#modules/people/organizations/queries";
import { readDuration, readUuid } from "./arguments";
import { CommandError } from "./command-error";
import { withStamps } from "./environment";

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
  const now = new Date();
  const expiresAt = expires && new Date(now.getTime() + expires * 1_000).toISOString();
  await withStamps(async (sql, stamps) => {
    if (!(await createOrganizationLookup(sql).exists(organization))) throw new CommandError(`There is no organization ${organization}.`);
    const scope = { organizationId: organization, actor: { type: "command-line" as const }, requestId: null };
    const created = await createApiToken(sql, stamps, scope, { name, role, tokenHash: hashApiToken(token), ...(expiresAt && { expiresAt }) }, now);
    if (typeof created === "string") throw new CommandError("The organization has as many live API tokens as it may. Revoke one first.");
  });
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
