import { isAbsolute, normalize, relative, sep } from "node:path";

/** File systems that are windows into the kernel and into other processes: nothing is installed there. */
const FORBIDDEN = ["/proc", "/sys", "/dev"];
const CERTIFICATE_FILE = /^[^.].*\.(pem|crt|cer|cert|key|p12|pfx|jks|keystore|truststore|der|bundle)$/i;

/** Returns true if the path is the directory or lies in it. Both are absolute, without links and `..`. */
export function isWithin(path: string, directory: string) {
  const way = relative(directory, path);
  return way === "" || !(way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way));
}

export const isForbidden = (path: string) => FORBIDDEN.some((each) => isWithin(path, each));

/** Returns true for a name that no program takes for a file of settings, a script or a library. */
export const isCertificateFile = (name: string) => CERTIFICATE_FILE.test(name);

/** Returns why a path cannot stand in a policy. */
export function pathFault(path: string) {
  if (!isAbsolute(path)) return "must be an absolute path";
  if (path !== normalize(path) || (path.length > 1 && path.endsWith("/"))) return `must be written the direct way, as ${direct(path)}`;
  if (isForbidden(path)) return "lies in /proc, /sys or /dev, which no policy permits";
}

const direct = (path: string) => normalize(path).replace(/(?<=.)\/$/, "");
