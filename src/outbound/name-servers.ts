import { setServers } from "node:dns";
import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";

const FILE = "/etc/resolv.conf";
/** The machine itself is asked where a file names no server. */
const OWN = ["127.0.0.1"];

let known: string | undefined;

/**
 * Has c-ares ask the name servers that the machine has now: it reads their file once, but DHCP, a VPN or a start ahead of the
 * network changes it.
 */
export function followNameServers() {
  const found = versionOf(FILE);
  if (found === known) return;
  const isFirst = known === undefined;
  known = found;
  if (isFirst || found === "") return; // it reads the file itself; one that is just being replaced is there again soon
  const servers = Array.from(readFileSync(FILE, "utf8").matchAll(/^nameserver[ \t]+(\S+)/gm), ([, address = ""]) => address).filter((address) => isIP(address));
  setServers(servers.length > 0 ? servers : OWN);
}

/** Returns what differs after each change of a file; "" where there is none. */
function versionOf(file: string) {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats ? `${stats.dev} ${stats.ino} ${stats.size} ${stats.ctimeMs}` : "";
}
