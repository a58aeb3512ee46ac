import { Value } from "@sinclair/typebox/value";
import { INSTALLABLE } from "#modules/fleet/trust-stores/rules/installable";
import { findMeant } from "#text/misspelled";
import { quoteWords } from "#text/shell-words";
import { anchorFault } from "./anchors";
import { endpointFault } from "./endpoints";
import { pathFault } from "./paths";
import { FIELD_NAMES, type Field, type Grant, type Policy, PolicySchema } from "./policy";
import { patternFault } from "./reloads";

type Parsed = { policy: Policy } | { faults: string[] };

const COMMANDS = ["reloads", "reloadPatterns"];
const KNOWN = [...FIELD_NAMES, "$schema"];

/** Returns the policy that a file's text holds, or everything that is wrong with it, a sentence each. */
export function parsePolicy(text: string): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { faults: [`It is not JSON (${(error as Error).message}).`] };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { faults: ['It must be a JSON object, such as {} or {"privateKeys": true}.'] };
  const unknown = Object.keys(value).filter((name) => !KNOWN.includes(name));
  const faults = unknown.map((name) => `${name} is not a field of a policy. ${hint(findMeant(name, KNOWN), KNOWN)}`);
  const known = Object.fromEntries(Object.entries(value).filter(([name]) => KNOWN.includes(name)));
  const misshapen = [...new Set([...Value.Errors(PolicySchema, known)].map(({ path }) => path.split("/")[1] ?? ""))];
  faults.push(...misshapen.map((name) => `${name} must be ${shapeOf(name)}.`));
  const policy = known as Policy;
  for (const field of FIELD_NAMES) if (!misshapen.includes(field)) faults.push(...faultsIn(policy, field));
  return faults.length > 0 ? { faults } : { policy };
}

function shapeOf(name: string) {
  if (name === "privateKeys") return "true or false";
  if (name === "$schema") return "text";
  return COMMANDS.includes(name) ? 'a list of commands, each a list of words, such as [["systemctl", "restart", "example"]]' : 'a list of texts, such as ["…"]';
}

function faultsIn(policy: Policy, field: Field) {
  const values: unknown = policy[field];
  if (!Array.isArray(values)) return [];
  return values.flatMap((value, index) => {
    const fault = grantFault({ field, value } as Grant);
    return fault ? `${field}[${index}], ${shown(value)}, ${asSentence(fault)}` : [];
  });
}

/** Ends what ends without a mark of its own. */
export const asSentence = (text: string) => (/[.?]$/.test(text) ? text : `${text}.`);

const shown = (value: string | string[]) => (typeof value === "string" ? value : quoteWords(value));

/** Returns what is wrong with one thing that a policy is to permit, as the rest of a sentence. */
export function grantFault({ field, value }: Grant): string | undefined {
  if (value === true) return undefined;
  if (/\p{C}/u.test([value].flat().join(""))) return "holds a control character or an invisible one, which no policy permits";
  switch (field) {
    case "directories":
    case "files":
    case "pythonVenvs":
    case "pkcs11Modules":
    case "webroots":
      return pathFault(value);
    case "reloads":
      return value[0] === "" ? "must begin with a program" : undefined;
    case "reloadPatterns":
      return patternFault(value);
    case "anchors":
      return anchorFault(value);
    case "endpoints":
      return endpointFault(value);
    default:
      return formFault(field, value);
  }
}

function formFault(field: "stores" | "nodeFlags" | "passwords" | "accounts" | "fileOwners" | "keyModes" | "challengePorts", value: string) {
  const stores: readonly string[] = INSTALLABLE;
  if (field === "stores" && !stores.includes(value)) return `is no kind of store that this agent installs into. ${hint(findMeant(value, stores), stores)}`;
  if (field === "nodeFlags" && !value.startsWith("-")) return "must be a flag, such as --experimental-vm-modules";
  if (field === "passwords" && !/^(env:[A-Za-z_]\w*|file:\/.+)$/.test(value)) return "must be env:NAME or file:/path";
  if (field === "accounts" && !/^[A-Za-z_][\w.-]*\$?$/.test(value)) return "must be the name of an account";
  if (field === "fileOwners" && !/^:?[A-Za-z_][\w.-]*$/.test(value)) return "must be the name of an account, or of a group after a colon";
  if (field === "challengePorts" && !(/^[1-9]\d{0,4}$/.test(value) && Number(value) <= 65_535)) return "must be a port, such as 80";
  if (field === "keyModes" && !/^[0-7]{3,4}$/.test(value)) return "must be an octal mode, such as 0660";
}

const hint = (meant: string | undefined, all: readonly string[]) => (meant ? `Did you mean ${meant}?` : `There are ${all.join(", ")}.`);
