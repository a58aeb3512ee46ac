import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { readPolicyFile, writePolicyFile } from "#agent/policy/file";
import { POLICY_FILE } from "#agent/policy/host-policy";
import { asSentence, grantFault } from "#agent/policy/parse";
import { FIELD_NAMES, type Field, type Grant, OPTIONS, type Policy, withGrant } from "#agent/policy/policy";
import { quoteWords, splitWords } from "#shell-words";
import { CommandError } from "../command-error";

type Options = { policy: string; grants?: Grant[] };

const HELP = `
Each option may be given several times. A command is one argument, quoted as for a shell:
  --reload 'systemctl restart example'
  --reload-pattern "systemctl restart '*'"
The agent takes the change up at its next pass.`;

/** Adds the command by which an administrator of the host consents. */
export function addAllow(policy: Command) {
  const grants: Grant[] = [];
  const command = policy
    .command("allow")
    .description("Permit something on this host, and say what has changed.")
    .option("--policy <file>", "the policy; it is made where there is none", POLICY_FILE);
  for (const field of FIELD_NAMES) {
    const { name, argument, description } = OPTIONS[field];
    command.option(argument ? `${name} ${argument}` : name, description, (value: string) => void grants.push(readGrant(field, value)));
  }
  return command.addHelpText("after", HELP).action(({ policy: file }: Options) => allow(resolve(file), grants));
}

function readGrant(field: Field, value: string): Grant {
  if (field === "privateKeys") return { field, value: true };
  const grant = field === "reloads" || field === "reloadPatterns" ? { field, value: readCommand(value) } : { field, value };
  const fault = grantFault(grant);
  if (fault) throw new InvalidArgumentError(`It ${asSentence(fault)}`);
  return grant;
}

function readCommand(line: string) {
  const words = splitWords(line);
  if (!words)
    throw new InvalidArgumentError(
      "It must be a program and its words, without variables, patterns and other commands: no shell runs it. Quote such a word once more: \"systemctl restart '*'\".",
    );
  return words;
}

async function allow(file: string, grants: Grant[]) {
  if (grants.length === 0) throw new CommandError("Say what to permit, such as --directory /etc/example (--help shows the options).", 2);
  const found = await readPolicyFile(file);
  if (found && "faults" in found) throw new CommandError(`${found.faults.join("\n")}\nNothing was changed.`);
  let policy: Policy = found?.policy ?? {};
  const told: string[] = [];
  for (const grant of grants) {
    const next = withGrant(policy, grant);
    told.push(next === policy ? `permitted already: ${shown(grant)}` : `permitted: ${shown(grant)}`);
    policy = next;
  }
  if (policy !== (found?.policy ?? policy) || !found) await writePolicyFile(file, policy);
  console.info([file, ...told].join("\n"));
}

const shown = ({ field, value }: Grant) => [field, ...(value === true ? [] : [typeof value === "string" ? value : quoteWords(value)])].join(" ");
