import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { certificatesIn, fingerprintOf } from "#agent/host/pem";
import { readPolicyFile, writePolicyFile } from "#agent/policy/file";
import { POLICY_FILE } from "#agent/policy/host-policy";
import { asSentence, grantFault } from "#agent/policy/parse";
import { FIELD_NAMES, type Field, type Grant, OPTIONS, type Policy, withGrant, withoutGrant } from "#agent/policy/policy";
import { inTurn } from "#agent/policy-turn";
import { quoteWords, splitWords } from "#text/shell-words";
import { CommandError } from "../command-error";

const HELP = `
Each option may be given several times. A command is one argument, quoted as for a shell:
  --reload 'systemctl restart example'
  --reload-pattern "systemctl restart '*'"     where '*' is the name of a service
An authority is named by its fingerprint, or by the file of its certificate:
  --anchor sha256:/etc/ssl/corp-root.pem
  --anchor 'signed-by:/etc/ssl/corp-root.pem stores:linux_update_ca_certificates,java_cacerts'
  --anchor names:corp.example,10.0.0.0/8       one that may certify nothing else, by its own name constraints
The agent takes the change up at its next pass.`;

/** How a policy is changed by one thing: the changed policy, and the line that reports it. */
type Change = { verb: "allow" | "revoke"; action: string; description: string; apply: (policy: Policy, grant: Grant) => { next: Policy; words: string } };

const ALLOW: Change = {
  verb: "allow",
  action: "permit",
  description: "Permit something on this host, and say what has changed.",
  apply(policy, grant) {
    const next = withGrant(policy, grant);
    const isFirst = grant.field === "anchors" && policy.anchors === undefined;
    const rest = isFirst ? "\nFrom now on no other authority may come into a store; those that are there stay." : "";
    return { next, words: `${next === policy ? "permitted already" : "permitted"}: ${shown(grant)}${rest}` };
  },
};

const REVOKE: Change = {
  verb: "revoke",
  action: "revoke",
  description: "Permit something no more, and say what has changed. What is installed stays.",
  apply(policy, grant) {
    const next = withoutGrant(policy, grant);
    if (next !== policy) return { next, words: `revoked: ${shown(grant)}` };
    return { next, words: `not in the file: ${shown(grant)} (policy show says what is permitted without it)` };
  },
};

/** Adds the commands by which an administrator of the host consents, and takes that back. */
export const addAllow = (policy: Command) => addChange(policy, ALLOW);
export const addRevoke = (policy: Command) => addChange(policy, REVOKE);

function addChange(policy: Command, change: Change) {
  const grants: Grant[] = [];
  const command = policy
    .command(change.verb)
    .description(change.description)
    .option("--policy <file>", "the policy; it is made where there is none", POLICY_FILE);
  for (const field of FIELD_NAMES) {
    const { name, argument, description } = OPTIONS[field];
    command.option(argument ? `${name} ${argument}` : name, description, (value: string) => void grants.push(readGrant(field, value)));
  }
  return command.addHelpText("after", HELP).action(({ policy: file }: { policy: string }) => applyAll(resolve(file), grants, change));
}

function readGrant(field: Field, value: string): Grant {
  if (field === "privateKeys") return { field, value: true };
  const grant = field === "reloads" || field === "reloadPatterns" ? { field, value: readCommand(value) } : { field, value: readText(field, value) };
  const fault = grantFault(grant);
  if (fault) throw new InvalidArgumentError(`It ${asSentence(fault)}`);
  return grant;
}

const readText = (field: Field, value: string) => (field === "anchors" ? value.trim().split(/\s+/).map(readFingerprint).join(" ") : value);

/** A fingerprint also as openssl prints it, or the file of the certificate. */
function readFingerprint(word: string) {
  const [, kind, value = ""] = /^(sha256|signed-by):(.*)$/s.exec(word) ?? [];
  if (kind === undefined) return word;
  return `${kind}:${value.startsWith("/") ? fingerprintAt(value) : value.replaceAll(":", "").toLowerCase()}`;
}

function fingerprintAt(path: string) {
  try {
    const [certificate, ...more] = certificatesIn(readFileSync(path, "utf8"));
    if (certificate !== undefined && more.length === 0) return fingerprintOf(certificate);
  } catch (error) {
    throw new InvalidArgumentError(`${path} cannot be read: ${(error as Error).message}`);
  }
  throw new InvalidArgumentError(`${path} does not hold one certificate in PEM.`);
}

function readCommand(line: string) {
  const words = splitWords(line);
  if (!words)
    throw new InvalidArgumentError(
      "It must be a program and its words, without variables, patterns and other commands: no shell runs it. Quote such a word once more: \"systemctl restart '*'\".",
    );
  return words;
}

async function applyAll(file: string, grants: Grant[], { verb, action, apply }: Change) {
  if (grants.length === 0) throw new CommandError(`Say what to ${action}, such as --directory /etc/example (--help shows the options).`, 2);
  await readSound(file); // so that no lock goes to a place of others
  const lines = await inTurn(file, async () => {
    const before = await readSound(file);
    let policy: Policy = before ?? {};
    const reported: string[] = [];
    for (const grant of grants) {
      const { next, words } = apply(policy, grant);
      reported.push(words);
      policy = next;
    }
    if (before ? policy !== before : verb === "allow") await writePolicyFile(file, policy);
    return reported;
  });
  console.info([file, ...lines].join("\n"));
}

async function readSound(file: string) {
  const found = await readPolicyFile(file);
  if (found && "faults" in found) throw new CommandError(`${found.faults.join("\n")}\nNothing was changed.`);
  return found?.policy;
}

const shown = ({ field, value }: Grant) => [field, ...(value === true ? [] : [typeof value === "string" ? value : quoteWords(value)])].join(" ");
