import { FIELD_NAMES, type Field, type Policy } from "#agent/policy/policy";
import { quoteWords } from "#shell-words";

/** What holds besides what the file says. */
const ALWAYS: Record<Field, string> = {
  stores: "every kind that the agent can install into",
  directories: "the stores' own, such as /usr/local/share/ca-certificates and /etc/nginx/ssl",
  files: "the stores' own, such as Java's cacerts",
  reloads: "systemctl reload of known services, nginx -s reload, update-ca-certificates",
  reloadPatterns: "none",
  nodeFlags: "those that load no code and weaken nothing, such as --use-openssl-ca",
  passwords: "none",
  endpoints: "this host: loopback, its names and addresses",
  pythonVenvs: "none; the system's own python3",
  pkcs11Modules: "none",
  accounts: "the agent's own",
  fileOwners: "root and the accounts and groups of known servers",
  keyModes: "up to 0640 with a private key, up to 0644 without",
  webroots: "none",
  challengePorts: "none",
  privateKeys: "no",
};

/** Returns what a host permits as a table for a person: a line for each thing. */
export function policyTable(file: string, policy: Policy | undefined) {
  const width = Math.max(...FIELD_NAMES.map(({ length }) => length)) + 2;
  const rows = FIELD_NAMES.flatMap((field) => linesOf(field, policy ?? {}).map((line, index) => `${(index === 0 ? field : "").padEnd(width)}${line}`));
  return [policy ? `${file}` : `${file} does not exist: this holds without a file.`, "", ...rows].join("\n");
}

function linesOf(field: Field, policy: Policy) {
  const value = policy[field];
  if (field === "privateKeys") return [value ? "yes" : ALWAYS[field]];
  const given = Array.isArray(value) ? value.map((each: string | string[]) => (typeof each === "string" ? each : quoteWords(each))) : [];
  if (field === "stores") return value === undefined ? [ALWAYS[field]] : given.length > 0 ? given : ["none"];
  return given.length > 0 ? [...given, ...(ALWAYS[field] === "none" ? [] : [`always: ${ALWAYS[field]}`])] : [ALWAYS[field]];
}
