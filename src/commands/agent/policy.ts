import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { readPolicyFile, writePolicyFile } from "#agent/policy/file";
import { POLICY_FILE } from "#agent/policy/host-policy";
import { type Policy, PolicySchema, PROFILES } from "#agent/policy/policy";
import { CommandError } from "../command-error";
import { addAllow, addRevoke } from "./policy-change";
import { policyTable } from "./policy-table";

const HELP = `
What the agent may do on this host, whatever its server says. Without a file it may install public certificates into the
stores' own places, of any authority that the server names, and reload the services that it knows (show names them all). The file must belong to root or to the agent's user, and no
other user may change it or a directory above it. The agent takes a change up at its next pass.

Exit codes: 0 done, 1 the file is faulty or cannot be written, 2 wrong usage.`;

/** Adds the commands that show, check and change what this host permits. */
export function addPolicy(agent: Command) {
  const policy = agent.command("policy").description("Show, check and change what this host permits its agent.").addHelpText("after", HELP);
  for (const add of [addShow, addCheck, addAllow, addRevoke, addInit, addSchema]) add(policy).exitOverride().showHelpAfterError();
  return policy;
}

const addShow = (policy: Command) =>
  policy
    .command("show")
    .description("Show what this host permits.")
    .option("--policy <file>", "the policy", POLICY_FILE)
    .option("--json", "as JSON, for a program")
    .action(async ({ policy: file, json = false }: { policy: string; json?: boolean }) => {
      const found = await read(file);
      console.info(
        json ? JSON.stringify({ file: resolve(file), exists: found !== undefined, policy: found ?? {} }, null, 2) : policyTable(resolve(file), found),
      );
    });

const addCheck = (policy: Command) =>
  policy
    .command("check")
    .description("Check a policy: exit code 1 with a sentence for each fault.")
    .argument("[file]", "the policy", POLICY_FILE)
    .action(async (file: string) => {
      const found = await read(file);
      if (!found && file !== POLICY_FILE) throw new CommandError(`${resolve(file)} does not exist.`);
      console.info(found ? `${resolve(file)} is in order.` : `${resolve(file)} does not exist: the agent keeps to the stores' own places.`);
    });

const INIT_HELP = `
server: no kind of store, and no authority, until each is permitted. For a web server, for instance:
  policy init --profile server
  policy allow --store nginx_tls --private-keys`;

const addInit = (policy: Command) =>
  policy
    .command("init")
    .description("Make a policy to begin with, where there is none.")
    .addOption(new Option("--profile <name>", "the kind of host").choices(Object.keys(PROFILES)).makeOptionMandatory())
    .option("--policy <file>", "the policy", POLICY_FILE)
    .addHelpText("after", INIT_HELP)
    .action(async ({ policy: file, profile }: { policy: string; profile: string }) => {
      if (await read(file)) throw new CommandError(`${resolve(file)} is there already, and was not changed.`);
      await writePolicyFile(resolve(file), PROFILES[profile] ?? {});
      console.info(`${resolve(file)} made: it permits what policy show says.`);
    });

const addSchema = (policy: Command) =>
  policy
    .command("schema")
    .description("Print the JSON schema of a policy.")
    .action(() => console.info(JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", ...PolicySchema }, null, 2)));

async function read(file: string): Promise<Policy | undefined> {
  const found = await readPolicyFile(resolve(file)).catch(({ message }: Error) => ({ faults: [message] }));
  if (found && "faults" in found) throw new CommandError(found.faults.join("\n"));
  return found?.policy;
}
