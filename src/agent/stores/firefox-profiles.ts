import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { readSnapshot, textOf } from "../host/files";
import { foreign } from "../host/foreign";
import type { Host } from "../host/host";

/** The directories of Firefox's and Thunderbird's profiles in a home: Mozilla's and Debian's, snap's, flatpak's. */
const ROOTS = [
  ".mozilla/firefox",
  ".config/mozilla/firefox",
  "snap/firefox/common/.mozilla/firefox",
  ".var/app/org.mozilla.firefox/.mozilla/firefox",
  ".thunderbird",
];

/** The directories of profiles of all accounts of this machine, and of the agent's own home. */
export async function profileRoots({ home }: Host) {
  const homes = (await readFile("/etc/passwd", "utf8")).split("\n").flatMap((line) => line.split(":")[5] ?? []);
  return [...new Set([home, ...homes])].filter((each) => each.length > 1).flatMap((each) => ROOTS.map((root) => join(each, root)));
}

/** The profile that the user's Firefox, else Thunderbird, starts with. */
export async function findProfile(home: string) {
  for (const root of ROOTS.map((each) => join(home, each))) {
    const text = textOf(await readSnapshot(join(root, "profiles.ini")));
    const sections = text.split(/^\[/m);
    const started = sections.find((each) => /^Install/.test(each) && /^Default=/m.test(each));
    const path = /^Default=(.+)$/m.exec(started ?? "")?.[1] ?? pathOf(sections.find((each) => /^Default=1$/m.test(each))) ?? pathOf(text);
    if (path) return isAbsolute(path) ? path : join(root, path);
  }
  throw new Error(`${foreign(home)} has no profile of Firefox or Thunderbird. Let it start once, or set config.trustStorePath to the profile's directory.`);
}

const pathOf = (section = "") => /^Path=(.+)$/m.exec(section)?.[1];
