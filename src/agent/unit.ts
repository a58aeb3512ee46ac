/** The parts of the agent's systemd unit. */
export type Unit = {
  /** The program and its arguments. */
  command: string[];
  stateDirectory: string;
  /** The account that it runs as; root where none is given. */
  user?: string | undefined;
  /** Directories that it may write beside its own and the usual ones. */
  writable: string[];
  /** Bytes of an answer that the agent reads at most, where that is set. */
  maxAnswer?: number | undefined;
};

export const UNIT_NAME = "certitude-agent.service";
export const UNIT_DIRECTORY = "/etc/systemd/system";
/** The first line of a unit of ours. */
export const UNIT_MARK = "# Written by the Certitude agent (install); the next one writes it again.\n";

/**
 * The agent's capabilities: to write and give away files of others, to act as their owner, to signal servers, and to let nginx
 * test its configuration, which opens its ports.
 */
const CAPABILITIES = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_NET_BIND_SERVICE", "CAP_SETGID", "CAP_SETUID"];
/** The directories of system and server stores; logs and sockets are for the programs that check and reload them. */
const USUAL_PLACES = ["/etc", "/usr/local/share/ca-certificates", "/var/log", "/run"];
/** For the agent, and the tools that it runs. */
const MEMORY_MIB = 512;
/** For each MiB of an answer: the agent was seen to need 14. */
const MEMORY_FACTOR = 16;
/** Of an answer, as far as a desired state grows without an option. */
const USUAL_ANSWER = 32 * 1_024 ** 2;
/** Processes and threads: Java and Erlang start several for each processor. */
const MAX_TASKS = 1_024;
const isInHome = (path: string) => /^\/(home|root|run\/user)(\/|$)/.test(path);

/** The protections that all our units have. */
export const PROTECTIONS = `PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes`;

/** Returns the unit's text: everything that the agent and the tools that it starts do not need is taken from them. */
export function renderUnit({ command, stateDirectory, user, writable, maxAnswer = 0 }: Unit) {
  const places = [stateDirectory, ...(user ? [] : USUAL_PLACES.map((each) => `-${each}`)), ...writable];
  const memory = MEMORY_MIB + (MEMORY_FACTOR * Math.max(maxAnswer, USUAL_ANSWER)) / 1_024 ** 2;
  return `${UNIT_MARK}[Unit]
Description=Certitude agent: certificates in this host's trust stores
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart=${command.map(quoteArgument).join(" ")}
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=10
${user ? `User=${user}\n` : ""}UMask=0077
LimitCORE=0
MemoryMax=${memory}M
TasksMax=${MAX_TASKS}
NoNewPrivileges=yes
CapabilityBoundingSet=${user ? "" : CAPABILITIES.join(" ")}
AmbientCapabilities=
ProtectSystem=strict
ReadWritePaths=${places.map(quote).join(" ")}
ProtectHome=${writable.some(isInHome) ? "no" : "read-only"}
${PROTECTIONS}
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
`;
}

/** A word of a command as systemd reads it back: where it puts variables in. */
export const quoteArgument = (word: string) => quote(word.replaceAll("$", "$$$$"));

/** A word as systemd reads it back: where it puts specifiers in. */
function quote(word: string) {
  const plain = word.replaceAll("%", "%%");
  return /^[\w@%$+=:,./-]+$/.test(plain) ? plain : `"${plain.replace(/["\\]/g, "\\$&")}"`;
}
