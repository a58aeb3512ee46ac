import { basename, dirname, normalize } from "node:path";
import { FOREIGN } from "./host/foreign";
import type { Host } from "./host/host";
import type { HostPolicy } from "./policy/host-policy";
import { CONSENT } from "./policy/judge";
import { OWN_PLACES } from "./policy/places";

/**
 * The text of a report to the server: the agent's own sentences and names that the server knows. Paths, accounts and words of
 * files, tools or peers stay in the agent's log.
 */

/** Text and paths that the server has sent for one assignment. */
export type Named = readonly unknown[];
export type Asking = { host: Host; policy: Pick<HostPolicy, "calling"> };

const REST = "The rest is in the agent's log on the host.";
const COMMAND_ELSEWHERE = "The command that permits it is in the agent's log on the host.";
const HIDDEN = "…";
const HIDDEN_PATH = "(a path on this host)";
/** In a refusal, what follows is where a link leads, as far as the first of these ends. */
const LEADS = ", which leads to ";
const ENDS_LEAD = / \(config\.|; |\. |$/;
/** An absolute path in a sentence, as far as its first space or mark. */
const PATH = /(?<=^|[\s"'`(=:,;<>|])\/[^\s"'`,;:()<>|…]*/g;
const ENDS_PATH = /[\s"'`,;:()<>|/]/;
/** Names that stores give to files of their own. */
const OWN_NAMES = ["hosts.toml", "root.crt", "ca.crt", "certitude.json", "policies.json"];

/** Returns what the server may know of a message: what it has not `named` itself is left out. */
export function disclose(message: string, named: Named, { host, policy }: Asking) {
  const isKnown = knownPaths(named, host, policy.calling.file);
  const redact = (text: string) =>
    withoutLeads(text.replace(FOREIGN, HIDDEN)).replace(PATH, (token) => {
      const path = withoutMarks(token);
      const shown = path.startsWith(`${host.home}/`) && !isKnown(path) ? `~${path.slice(host.home.length)}` : path;
      return (path === "" || isKnown(shown) ? shown : HIDDEN_PATH) + token.slice(path.length);
    });
  const [what = "", command] = message.split(CONSENT);
  if (command !== undefined) return redact(what) + (redact(command) === command ? CONSENT + command : COMMAND_ELSEWHERE);
  const redacted = redact(message);
  return redacted === message ? message : `${redacted.trimEnd()} ${REST}`;
}

function withoutLeads(text: string) {
  const [first = "", ...rest] = text.split(LEADS);
  return [first, ...rest.map((each) => each.slice(each.search(ENDS_LEAD)))].join(", which leads elsewhere");
}

/** Returns a path without the marks that end the sentence around it. */
function withoutMarks(token: string) {
  let end = token.length;
  while (/[.!?]/.test(token[end - 1] ?? "")) end--;
  return token.slice(0, end);
}

/**
 * Returns a function that is true for a path that the server named, that leads there, or that a store names after something
 * that it named.
 */
function knownPaths(named: Named, host: Host, policyFile: string | undefined) {
  const texts = named.flatMap(stringsIn);
  const given = texts.flatMap((each) => [each, normalize(each), ...(each.match(PATH) ?? [])]).filter((each) => /^~?\//.test(each));
  const known = [...given, ...placesOf(host), ...(policyFile === undefined ? [] : [policyFile])];
  const words = [...OWN_NAMES, ...texts.map((each) => basename(each)).filter((each) => each.length > 0)];
  const isOnTheWay = (path: string) => known.some((each) => each.startsWith(path) && (each.length === path.length || ENDS_PATH.test(each[path.length] ?? "")));
  return (path: string) =>
    isOnTheWay(path) || (isOnTheWay(dirname(path)) && words.some((each) => basename(path) === each || basename(path).startsWith(`${each}.`)));
}

/** Returns the stores' places that are the same on every host; those in the agent's home without the account's name. */
function placesOf(host: Host) {
  const { system, caTrust } = host;
  const own = Object.values(OWN_PLACES).flatMap((placesOn) => {
    const { directories = [], files = [] } = placesOn(host);
    return [...directories, ...files];
  });
  const all = [system.anchors, system.bundle, system.hooks, system.javaStore, caTrust.anchors, caTrust.bundle, ...own];
  return all.map((each) => (each.startsWith(`${host.home}/`) ? `~${each.slice(host.home.length)}` : each));
}

/** Every text in what was sent, but for certificates and keys. */
function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return value.includes("-----BEGIN") ? [] : [value];
  return value instanceof Object ? Object.values(value).flatMap(stringsIn) : [];
}
