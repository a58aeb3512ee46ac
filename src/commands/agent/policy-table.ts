import { CONFINING, FIELD_NAMES, type Field, type Policy } from "#agent/policy/policy";
import { KNOWN_RELOADS } from "#agent/policy/reloads";
import { quoteWords } from "#text/shell-words";

/** The permissions that hold besides the file's own. */
const ALWAYS: Record<Exclude<Field, "reloads">, string> = {
  stores: "every kind that the agent can install into",
  anchors: "every authority that the server sends",
  directories: "the stores' own, such as /usr/local/share/ca-certificates and /etc/nginx/ssl",
  files: "the stores' own, such as Java's cacerts",
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

/** The programs that the agent runs besides, by the store; the words are the agent's, not the server's. */
const TOOLS = [
  "after a change: the host's own programs in /etc/certitude-agent/hooks.d",
  "system's store: update-ca-certificates, update-ca-trust extract, run-parts and the hooks in /etc/ca-certificates/update.d, dpkg --configure",
  "keystores: keytool, certutil, pk12util, pkcs11-tool, openssl pkcs12",
  "files: openssl (rehash, version, crl2pkcs7), find, mkdir, getent",
  "servers: nginx -t, apachectl configtest, haproxy -c, redis-cli CONFIG SET, mariadb FLUSH SSL, psql pg_reload_conf(), pg_ctl reload",
  "settings: git config, curl --version, node --eval (its own list of flags), python3 -m certifi",
];

/** Returns what a host permits as a table for a person: a line for each thing. */
export function policyTable(file: string, policy: Policy | undefined) {
  const width = Math.max(...FIELD_NAMES.map(({ length }) => length)) + 2;
  const rowsOf = (name: string, lines: string[]) => lines.map((line, index) => `${(index === 0 ? name : "").padEnd(width)}${line}`);
  const rows = FIELD_NAMES.flatMap((field) => rowsOf(field, linesOf(field, policy ?? {})));
  return [policy ? `${file}` : `${file} does not exist: this holds without a file.`, "", ...rows, ...rowsOf("tools", TOOLS)].join("\n");
}

function linesOf(field: Field, policy: Policy) {
  const value = policy[field];
  if (field === "privateKeys") return [value ? "yes" : ALWAYS[field]];
  const given = Array.isArray(value) ? value.map((each: string | string[]) => (typeof each === "string" ? each : quoteWords(each))) : [];
  if (CONFINING.includes(field)) return value === undefined ? alwaysOf(field) : given.length > 0 ? given : ["none"];
  const always = alwaysOf(field);
  if (given.length === 0) return always;
  return [...given, ...always.filter((each) => each !== "none").map((each) => `always: ${each}`)];
}

const alwaysOf = (field: Field) => (field === "reloads" ? KNOWN_RELOADS : [ALWAYS[field]]);
