import { isPreset, PRESET_NAMES } from "./presets";
import { isStartTls, START_TLS } from "./start-tls";
import type { TrustStoreType } from "./store-types";

/** The text that a value may hold, and how an answer says so. */
type Form = { accepts: (value: string) => boolean; must: string };
/** The same for a field, and where its value goes on a host. A list is judged word by word. */
export type Value = Form & { goesTo: string };

/** Tools read a word that begins so as an option (`-`), or as a file of more words (`@`). */
const isWord = (value: string) => !/^[-@]/.test(value) && !/\p{Cc}/u.test(value);
const NO_OPTION = "that does not begin with - or @";

const FILE_NAME: Form = {
  accepts: (value) => isWord(value) && !/[/\\]/.test(value) && value !== "." && value !== "..",
  must: `must be one plain name, without slashes and control characters, ${NO_OPTION}`,
};
/** Names without the characters that scripts of the system split, expand or rename. */
const ANCHOR_NAME: Form = {
  accepts: (value) => /^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(value),
  must: "must be one plain name of the letters A to Z, digits and . _ + -, that begins with a letter or a digit",
};
/** A colon would stand between the name of a token and a nickname. */
const NICKNAME: Form = { accepts: (value) => FILE_NAME.accepts(value) && !value.includes(":"), must: `${FILE_NAME.must}, and has no colon` };
const PATH: Form = {
  accepts: (value) => isWord(value) && !value.split(/[/\\]/).includes(".."),
  must: `must be a path without .. and control characters, ${NO_OPTION}`,
};
const TEXT: Form = { accepts: isWord, must: `must be text without control characters, ${NO_OPTION}` };
const LOGIN: Form = { accepts: (value) => isWord(value) && !/\s/.test(value), must: `must be the name of one account or login, ${NO_OPTION}` };
const ACCOUNT: Form = { accepts: (value) => /^[A-Za-z_][\w.-]{0,31}$/.test(value), must: "must be the name of an account or group, such as www-data" };
const HOST_NAME: Form = { accepts: (value) => /^[\w:][\w.:-]*$/.test(value), must: "must be the name or address of a server, such as www.example.org" };
const REFERENCE: Form = { accepts: isReference, must: "must be a reference, never the password itself: env:NAME, file:/path or vault:path#field" };
const ENDPOINT: Form = {
  accepts: isEndpoint,
  must: "must be an absolute https: or tls: URI without user name and password, such as https://www.example.org:8443",
};
const MODE: Form = { accepts: (value) => /^[0-7]{3,4}$/.test(value), must: "must be an octal mode, such as 0600" };
const COMMAND: Form = { accepts: (word) => !/\p{Cc}/u.test(word), must: "must be a program and its arguments, without control characters" };
const FLAG: Form = { accepts: (word) => /^-[^\p{Cc}]+$/u.test(word), must: "must be flags that begin with -, without control characters" };

function isEndpoint(value: string) {
  const url = /^(https|tls):\/\/[^\s\p{Cc}]+$/iu.test(value) ? URL.parse(value) : null;
  return url !== null && url.hostname !== "" && url.username === "" && url.password === "";
}

function isReference(value: string) {
  return /^(env:[A-Za-z_]\w*|vault:[^\s#\p{Cc}]+#[^\s#\p{Cc}]+)$/u.test(value) || (/^file:\/+[^/]/.test(value) && PATH.accepts(value));
}

/** Every value of a config that is text or a list of texts: what it may hold, whatever the store, and where it goes on a host. */
export const VALUES = {
  alias: { ...FILE_NAME, goesTo: "a file name, an argument of keytool, certutil, pk12util and pkcs11-tool" },
  trustStorePath: { ...PATH, goesTo: "a path, an argument of keytool, pkcs11-tool, git, redis-cli and pg_ctl, a settings file" },
  keyDirectory: { ...PATH, goesTo: "a path" },
  keychainPath: { ...PATH, goesTo: "nothing on Linux" },
  pythonVenvPath: { ...PATH, goesTo: "the directory in which ./bin/python runs" },
  envFilePath: { ...PATH, goesTo: "a path: the settings file itself" },
  certFileName: { ...FILE_NAME, goesTo: "a file name, an argument of git and redis-cli, a settings file" },
  keyFileName: { ...FILE_NAME, goesTo: "a file name, an argument of git and redis-cli, a settings file" },
  chainFileName: { ...FILE_NAME, goesTo: "a file name" },
  fullChainFileName: { ...FILE_NAME, goesTo: "a file name" },
  combinedFileName: { ...FILE_NAME, goesTo: "a file name" },
  caFileName: { ...FILE_NAME, goesTo: "a file name" },
  dbUser: { ...LOGIN, goesTo: "an argument of psql, mariadb, redis-cli and getent" },
  fileOwner: { ...ACCOUNT, goesTo: "an argument of getent" },
  fileGroup: { ...ACCOUNT, goesTo: "an argument of getent" },
  keyPermissionMode: { ...MODE, goesTo: "the mode of a file" },
  storePasswordRef: { ...REFERENCE, goesTo: "the name of a variable or a file that the agent reads; the password goes to tools by their environment" },
  reloadCommand: { ...COMMAND, goesTo: "a program and its arguments, once the host's policy permits them word for word" },
  nodeFlags: { ...FLAG, goesTo: "NODE_OPTIONS in a settings file, once the host's policy permits each" },
  verifyEndpoint: { ...ENDPOINT, goesTo: "the host and port that the agent connects to" },
  verifyServerName: { ...HOST_NAME, goesTo: "TLS and the protocols before it, which the agent speaks itself" },
  verifyStartTls: { accepts: isStartTls, must: `must be one of ${START_TLS.join(", ")}`, goesTo: "the choice of a protocol" },
  preset: { accepts: isPreset, must: `must be one of ${PRESET_NAMES.join(", ")}`, goesTo: "the choice of a preset" },
  racfProfile: { ...TEXT, goesTo: "nothing on Linux" },
  systemId: { ...TEXT, goesTo: "nothing on Linux" },
} satisfies Record<string, Value>;

const ANCHOR_NAMES = { alias: ANCHOR_NAME, certFileName: ANCHOR_NAME };
const REGISTRY_NAMES = { ...ANCHOR_NAMES, keyFileName: ANCHOR_NAME };

/** Stricter rules for values in stores whose tools read more into them. */
export const STORE_VALUES: { [Type in TrustStoreType]?: Partial<Record<string, Form>> } = {
  linux_update_ca_certificates: ANCHOR_NAMES,
  linux_update_ca_trust: ANCHOR_NAMES,
  openssl_ca_dir: ANCHOR_NAMES,
  docker_certs_d: REGISTRY_NAMES,
  podman_certs_d: REGISTRY_NAMES,
  containerd_certs_d: REGISTRY_NAMES,
  nss_shared_db: { alias: NICKNAME },
  nss_firefox_profile: { alias: NICKNAME },
};

const FORMS = new Map<string, Form>(Object.entries(VALUES));
const PATHS: readonly string[] = ["trustStorePath", "keyDirectory", "keychainPath", "pythonVenvPath", "envFilePath"] satisfies (keyof typeof VALUES)[];
export const isPath = (field: string) => PATHS.includes(field);

/**
 * Returns what a field's value must be, where it is not that in a store of the type, or in any store without one; never the
 * value itself.
 */
export function valueFault(field: string, value: unknown, type?: TrustStoreType) {
  const form = type === undefined ? FORMS.get(field) : Object.entries(STORE_VALUES[type] ?? {}).find(([name]) => name === field)?.[1];
  const words = [value].flat().filter((each) => typeof each === "string");
  return form && !words.every(form.accepts) ? form.must : undefined;
}
