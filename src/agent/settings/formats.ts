import { basename } from "node:path";

/** How a file sets a variable or option, and how what it sets is read back. */
export type Format = {
  render(name: string, value: string): string[];
  /** The value that counts, which is the last; undefined where it is not set. */
  read(text: string, name: string): string | undefined;
  /** The lines that add to whatever value the variable has by then, where the format can say that. */
  append?(name: string, value: string): string[];
};

const NO_EXPORT = /\.(fish|csh|ps1|bat|cmd)$/;

/** The format of a file of environment variables, by its name. */
export function formatOf(file: string): Format {
  if (NO_EXPORT.test(file))
    throw new Error(`config.envFilePath names ${file}, a script in a language that this agent does not write. Name a file of plain variables or for sh.`);
  if (/\.service$|\.service\.d\/[^/]+\.conf$/.test(file)) return systemd;
  if (/^activate$|\.(ba|z)?sh$|^\.?(profile|bash_profile|bashrc|zprofile|zshenv|zshrc)$/.test(basename(file))) return shell;
  return plain;
}

/** /etc/environment, /etc/default/…, EnvironmentFile=: read by pam, by systemd and by sh alike. */
const plain: Format = {
  render(name, value) {
    if (value.includes("'")) throw new Error(`${name} cannot be set to a value with a single quote: choose another path or flag.`);
    return [`${name}=${/^[\w@%+=:,./-]*$/.test(value) ? value : `'${value}'`}`];
  },
  read: (text, name) => lastMatch(text, assignment(name), (value) => unquote(value) ?? value.trim()),
};

/** A script that sh reads into its own environment. */
const shell: Format = {
  render: (name, value) => [`export ${name}='${value.replaceAll("'", `'\\''`)}'`],
  read: (text, name) => lastMatch(text, assignment(name), firstWord),
  append: (name, value) => [`export ${name}="\${${name}:+$${name} }${value.replace(/["\\$`]/g, "\\$&")}"`],
};

/** A unit of systemd, or a drop-in for one. */
const systemd: Format = {
  render: (name, value) => ["[Service]", `Environment="${name}=${value.replace(/["\\]/g, "\\$&").replaceAll("%", "%%")}"`],
  read(text, name) {
    const words = [...text.matchAll(/^[ \t]*Environment[ \t]*=(.*)$/gm)].flatMap(([, rest = ""]) => (rest.trim() === "" ? [RESET] : wordsOf(rest)));
    const set = words.slice(words.lastIndexOf(RESET) + 1).findLast((word) => word.startsWith(`${name}=`));
    return set?.slice(name.length + 1).replaceAll("%%", "%");
  },
};

/** ~/.curlrc; an option without a value is set to the empty one. */
export const curlrc: Format = {
  render: (name, value) => [value === "" ? name : `${name} = "${value.replace(/["\\]/g, "\\$&")}"`],
  read: (text, name) =>
    lastMatch(
      text,
      `[ \\t]*(?:--)?${name}(?:[ \\t]*[=:][ \\t]*|[ \\t]+|$)`,
      (value) => QUOTED.exec(value)?.[1]?.replace(/\\(.)/g, "$1") ?? value.trim().split(/\s/)[0] ?? "",
    ),
};

/** PHP's settings. */
export const ini: Format = {
  render(name, value) {
    if (/["$\\]/.test(value)) throw new Error(`${name} cannot be set to a path with a quote, a dollar or a backslash: choose another path.`);
    return [`${name} = "${value}"`];
  },
  read: (text, name) => lastMatch(text, `[ \\t]*${name.replace(".", "\\.")}[ \\t]*=`, (value) => unquote(value) ?? value.split(";")[0]?.trim() ?? ""),
};

const QUOTED = /^"((?:[^"\\]|\\.)*)"/;
const RESET = "";
const assignment = (name: string) => `[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=`;

function lastMatch(text: string, begin: string, read: (value: string) => string) {
  const value = [...text.matchAll(new RegExp(`^${begin}(.*?)\\r?$`, "gm"))].at(-1)?.[1];
  return value === undefined ? undefined : read(value);
}

/** Returns the text between quotes, if there are any. */
function unquote(value: string) {
  const [, single, double] = /^\s*(?:'([^']*)'|"((?:[^"\\]|\\.)*)")/.exec(value) ?? [];
  return single ?? double?.replace(/\\(.)/g, "$1");
}

/** The first word as sh reads it, but for what it would expand. */
const firstWord = (value: string) =>
  [...value.trimStart().matchAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s;'"\\])/gy)]
    .map(([, single, double, escaped, bare]) => single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? bare ?? "")
    .join("");

const wordsOf = (line: string) =>
  [...line.matchAll(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+)/g)].map(([, double, single, bare = ""]) =>
    (double ?? single ?? bare).replace(/\\(.)/g, "$1"),
  );
