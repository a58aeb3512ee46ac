import { type Static, Type } from "@sinclair/typebox";
import { INSTALLABLE } from "#modules/fleet/trust-stores/rules/installable";

const list = (description: string, examples: string[]) => Type.Array(Type.String({ minLength: 1, maxLength: 4_096 }), { description, examples: [examples] });
const commands = (description: string, examples: string[]) =>
  Type.Array(Type.Array(Type.String({ maxLength: 4_096 }), { minItems: 1, maxItems: 100 }), { description, examples: [[examples]] });

const FIELDS = {
  stores: list("The kinds of stores that the agent may install into; all that it can, where this is left out.", ["linux_update_ca_certificates"]),
  anchors: list(
    "Authorities that may be trusted, each by words that must all hold: sha256:…, signed-by:… (an authority that this one has signed, or itself), names:corp.example,10.0.0.0/8 (one that may certify nothing else), any; stores:… for these kinds of store alone. Every authority that the server sends, where this is left out.",
    ["signed-by:5f…c1 stores:linux_update_ca_certificates,java_cacerts"],
  ),
  directories: list("Directories in which the agent may write certificate files (.pem, .crt, .key …), at any depth. Never a link.", ["/etc/ssl/example"]),
  files: list("Single files that the agent may write or edit: bundles, keystores, files of settings. Never a link.", ["/etc/environment"]),
  reloads: commands("Programs that the agent may run after a change, word for word.", ["systemctl", "restart", "example"]),
  reloadPatterns: commands(
    "The same, where the word * stands for any one word that is no option; of systemctl, for a service. Never of a shell or another program that runs programs.",
    ["systemctl", "reload", "*"],
  ),
  nodeFlags: list("Flags that may go into NODE_OPTIONS, besides those that are harmless.", ["--experimental-vm-modules"]),
  passwords: list("Where the agent may take a store's password from: env:NAME or file:/path.", ["file:/etc/example.password"]),
  endpoints: list("Servers, besides this host itself, to which the agent may connect to verify: host:port.", ["www.example.org:443"]),
  pythonVenvs: list("Virtual environments whose Python the agent may run. Never a link.", ["/opt/example/venv"]),
  pkcs11Modules: list("Libraries of PKCS #11 that the agent may load. Never a link.", ["/usr/lib/softhsm/libsofthsm2.so"]),
  accounts: list("Accounts in whose name the agent may act, besides its own.", ["ada"]),
  fileOwners: list("Accounts, and groups with a colon before them, to which files may be given, besides those of known servers.", ["ada", ":ssl-cert"]),
  keyModes: list("Modes that files with a private key may have, besides those that only let their owner write and their group read.", ["0660"]),
  webroots: list(
    "Directories of web servers in which, at any depth, the agent may answer a CA's challenges: by files in .well-known/acme-challenge. Never a link.",
    ["/var/www"],
  ),
  challengePorts: list("Ports on which the agent may answer a CA's challenges itself, while an order lasts.", ["80"]),
  privateKeys: Type.Boolean({ description: "Whether private keys may come to this host, or be made on it.", default: false }),
};

export const PolicySchema = Type.Partial(
  Type.Object(
    { $schema: Type.String({ description: "For editors." }), ...FIELDS },
    { additionalProperties: false, title: "What the Certitude agent may do on this host, whatever its server says" },
  ),
);
export type Policy = Static<typeof PolicySchema>;
export type Field = keyof typeof FIELDS;
export const FIELD_NAMES = Object.keys(FIELDS) as Field[];

/** One thing that a policy permits. */
export type Grant = { field: Exclude<Field, "reloads" | "reloadPatterns" | "privateKeys">; value: string } | Command | { field: "privateKeys"; value: true };
type Command = { field: "reloads" | "reloadPatterns"; value: string[] };

/** How each is said on the command line. */
export const OPTIONS: Record<Field, { name: string; argument?: string; description: string }> = {
  stores: { name: "--store", argument: "<type>", description: "a kind of store, where the file lists those that are permitted" },
  anchors: {
    name: "--anchor",
    argument: "<rule>",
    description:
      "trusting authorities by a rule such as 'sha256:…', 'signed-by:…' or 'names:corp.example stores:java_cacerts'; the first one ends trust in all others",
  },
  directories: { name: "--directory", argument: "<path>", description: "certificate files in this directory" },
  files: { name: "--file", argument: "<path>", description: "this file: a bundle, a keystore, settings" },
  reloads: { name: "--reload", argument: "<command>", description: "this program with exactly these words, quoted as for a shell" },
  reloadPatterns: {
    name: "--reload-pattern",
    argument: "<command>",
    description: "the same, where '*' is any one word that is no option; of systemctl, a service",
  },
  nodeFlags: { name: "--node-flag", argument: "<flag>", description: "this flag in NODE_OPTIONS" },
  passwords: { name: "--password", argument: "<reference>", description: "a store's password from here: env:NAME or file:/path" },
  endpoints: { name: "--endpoint", argument: "<host:port>", description: "connecting to this server to verify" },
  pythonVenvs: { name: "--python-venv", argument: "<path>", description: "running the Python of this virtual environment" },
  pkcs11Modules: { name: "--pkcs11-module", argument: "<path>", description: "loading this library of PKCS #11" },
  accounts: { name: "--account", argument: "<name>", description: "acting in the name of this account" },
  fileOwners: { name: "--file-owner", argument: "<name>", description: "giving files to this account, or to a group: :name" },
  keyModes: { name: "--key-mode", argument: "<mode>", description: "this mode of files with a private key" },
  webroots: { name: "--webroot", argument: "<path>", description: "answers to a CA's challenges in this directory of a web server" },
  challengePorts: { name: "--challenge-port", argument: "<port>", description: "answering a CA's challenges on this port" },
  privateKeys: { name: "--private-keys", description: "private keys" },
};

/** Returns the policy that permits this too, or the same one where it did already. A policy that lists no stores permits all of them. */
export function withGrant(policy: Policy, { field, value }: Grant): Policy {
  if (value === true) return policy.privateKeys ? policy : { ...policy, privateKeys: true };
  const given: (string | string[])[] | undefined = policy[field];
  if (field === "stores" && given === undefined) return policy;
  const isListed = given?.some((each) => JSON.stringify(each) === JSON.stringify(value));
  return isListed ? policy : { ...policy, [field]: [...(given ?? []), value] };
}

/** Lists that permit nothing when they are empty, and everything when they are left out. */
export const CONFINING: readonly Field[] = ["stores", "anchors"];

/**
 * Returns the policy that does not permit this, or the same one where it said nothing of it. Without a list of stores, all
 * others are listed.
 */
export function withoutGrant(policy: Policy, { field, value }: Grant): Policy {
  const { [field]: given = field === "stores" ? [...INSTALLABLE] : [], ...rest } = policy;
  if (!Array.isArray(given)) return given ? rest : policy;
  const left = given.filter((each: string | string[]) => JSON.stringify(each) !== JSON.stringify(value));
  if (left.length === given.length) return policy;
  return left.length === 0 && !CONFINING.includes(field) ? rest : { ...policy, [field]: left };
}

/** Policies to begin with, by the kind of host: a server, which trusts nothing new and installs nothing until each is permitted. */
export const PROFILES: Record<string, Policy> = { server: { stores: [], anchors: [] } };
