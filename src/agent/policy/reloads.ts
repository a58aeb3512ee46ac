import { basename } from "node:path";
import { configRulesOf } from "#modules/fleet/trust-stores/rules/catalogue";
import { INSTALLABLE } from "#modules/fleet/trust-stores/rules/installable";
import { PRESET_RELOADS } from "#modules/fleet/trust-stores/rules/presets";
import { quoteWords } from "#text/shell-words";

const ANY = "*";

/** Services that read certificates again at a reload, and do nothing there that their own configuration does not say. */
const SERVICES = new Set(
  `apache2 httpd nginx haproxy caddy lighttpd postgresql redis redis-server valkey-server mariadb mysql mysqld postfix dovecot exim4 slapd stunnel4
  bind9 named unbound prosody vsftpd proftpd cups squid rabbitmq-server mosquitto nats-server`.split(/\s+/),
);
const POSTGRES_CLUSTER = /^postgresql@[0-9]{1,3}-[A-Za-z0-9_]{1,60}$/;
/** The commands that stores run where a config names none. */
const DEFAULT_RELOADS = INSTALLABLE.flatMap((type) => {
  const { reloadCommand } = configRulesOf(type).defaults;
  return Array.isArray(reloadCommand) ? [reloadCommand] : [];
});
const OTHERS = [["nginx", "-s", "reload"], ["update-ca-certificates"], ["update-ca-certificates", "--fresh"], ...PRESET_RELOADS, ...DEFAULT_RELOADS];

/** Programs that run what their arguments name: shells, interpreters, and those that start others. */
const RUNNERS = new Set(
  `sh bash dash zsh ksh mksh pdksh ash csh tcsh fish rsh yash busybox toybox python pypy perl ruby node nodejs bun deno php lua luajit tclsh wish expect guile
  java jshell pwsh awk gawk mawk nawk sed ed ex vi vim nvim view emacs env sudo su doas runuser setpriv setsid nohup nice ionice chrt taskset timeout stdbuf
  time xargs parallel find exec eval source ssh scp rsync nsenter unshare chroot docker podman nerdctl ctr crictl runc kubectl systemd-run machinectl at batch
  crontab watch script strace ltrace gdb perf flock git make tar zip man less more pager capsh start-stop-daemon dpkg apt apt-get rpm dnf yum pip npm npx
  openssl socat nc ncat screen tmux run-parts ld logrotate tcpdump curl wget mysql psql sqlite dd tee cp mv ln install rm chmod chown`.split(/\s+/),
);

export const isSameCommand = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((word, index) => word === other[index]);

/** The reloads that need no policy, in words for a person. */
export const KNOWN_RELOADS = [
  `systemctl reload of ${[...SERVICES].join(", ")}, postgresql@…`,
  ...new Set(OTHERS.map(quoteWords).filter((line) => !line.startsWith("systemctl reload "))),
];

/** Returns true for a reload that needs no policy. */
export function isKnownReload(argv: readonly string[]) {
  const [program, action, unit = "", ...rest] = argv;
  if (program !== "systemctl" || action !== "reload" || rest.length > 0) return OTHERS.some((each) => isSameCommand(each, argv));
  const name = unit.replace(/\.service$/, "");
  return SERVICES.has(name) || POSTGRES_CLUSTER.test(name);
}

/** Returns true for a program that would run whatever an argument says, of any version: `python3.11`, `ld-linux-x86-64.so.2`. */
function runsOthers(program: string) {
  const name = basename(program);
  if (name.startsWith("ld-linux") || name.startsWith("ld-musl")) return true;
  let end = name.length;
  while ("-.0123456789".includes(name[end - 1] ?? " ")) end--;
  return RUNNERS.has(name.slice(0, end));
}

/**
 * Returns true if the command is the pattern's: `*` is one word, never an option, and never one for a program that runs others; for
 * systemctl a service.
 */
export function matchesPattern(pattern: readonly string[], argv: readonly string[]) {
  const [program = ""] = argv;
  if (pattern.length !== argv.length || patternFault(pattern) !== undefined) return false;
  const stands = isSystemctl(program) ? isService : isPlainWord;
  return pattern.every((word, index) => word === argv[index] || (word === ANY && stands(argv[index] ?? "")));
}

const isSystemctl = (program: string) => basename(program) === "systemctl";
/** Units of another kind can stop the machine or open it, and so can some of systemd's own services. */
const OTHER_UNIT = /\.(target|socket|timer|mount|automount|swap|path|slice|scope|device)$/;
const OWN_SERVICE = /^(systemd-|initrd-|emergency|rescue|debug-shell)/;
const isService = (word: string) => /^[\w@:.-]+$/.test(word) && isPlainWord(word) && !OTHER_UNIT.test(word) && !OWN_SERVICE.test(word);

/** Returns why a pattern cannot stand in a policy. */
export function patternFault([program = "", ...rest]: readonly string[]) {
  if (program.includes(ANY)) return "must name its program, as the first word";
  if (!rest.includes(ANY)) return "holds no word *; one without belongs into reloads";
  if (runsOthers(program)) return `names ${program}, which runs whatever an argument says: permit each command word for word, in reloads`;
  if (isSystemctl(program) && rest.find((word) => !word.startsWith("-")) === ANY) return "must name what systemctl does: only the service may be *";
}

/** A word that a program takes neither for an option, nor for a setting, nor for a file that it should read (`@file`). */
const isPlainWord = (word: string) => /^[\w%+,.:]/.test(word) && !/[/=\s]/.test(word) && !word.includes("..");
