import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { argvOf } from "../host/arguments";
import { absent } from "../host/files";
import { foreign } from "../host/foreign";
import { type Host, pathOn } from "../host/host";
import { runProgram } from "../host/program";
import { gitSetting, otherClaims } from "../settings/git-setting";
import { pointedStore } from "../settings/pointed";
import { misplacedIn, type Store, storeBy, type Target } from "../store";
import { directoryStore } from "./directory";
import { bundleOrOs } from "./variables";

/** git, by its settings for the whole system where the agent is root, else by those of the agent's user. */
export const gitFileOn = ({ environment, home }: Host) =>
  environment.GIT_CONFIG_SYSTEM ?? (process.getuid?.() === 0 ? "/etc/gitconfig" : join(home, ".gitconfig"));

const authorities = pointedStore((target, host) => {
  const file = gitFileOn(host);
  return bundleOrOs(target, host, file, (path) => gitSetting({ file, name: "http.sslCAInfo" }, path));
});

/**
 * A client certificate is one user's, the agent's: git of any other user fails where the system's settings name a key that this
 * user cannot read.
 */
export const ownGitFileOn = ({ home }: Host) => join(home, ".gitconfig");
const directoryOn = (host: Host) => `${ownGitFileOn(host)}.d`;
const certificateName = ({ config, alias }: Target) => config.certFileName ?? `${alias}.crt`;
const keyName = ({ config, alias }: Target) => config.keyFileName ?? `${alias}.key`;

/** The certificate that git presents, with its key. */
const clientFiles = directoryStore({
  hasMoved: true, // they lay beside the system's settings
  defaultDirectory: directoryOn,
  parts: (target) => [
    { name: certificateName(target), holds: "chain" },
    { name: keyName(target), holds: "key" },
  ],
  async observe(directory, target) {
    const key = join(directory, keyName(target));
    return (await lstat(key).catch(absent)) ? [] : [`${key} is missing; put the private key there, or let the assignment include it`];
  },
});

function optionsOf(target: Target, host: Host) {
  const directory = pathOn(host, target.config.trustStorePath ?? directoryOn(host), "trustStorePath");
  const file = ownGitFileOn(host);
  return [
    { file, name: "http.sslCert", value: join(directory, certificateName(target)) },
    { file, name: "http.sslKey", value: join(directory, keyName(target)) },
  ];
}

const pair = pointedStore((target, host) => ({
  anchors: clientFiles,
  settings: optionsOf(target, host).map(({ value, ...place }) => gitSetting(place, value)),
}));

/** Returns the faults in the settings that git of this user really uses: a user's own includes may come after the agent's lines. */
async function faultsInUse(target: Target, host: Host) {
  const { stdout } = await runProgram(host, argvOf("git", "config", "--includes", "--null", "--list"));
  const entries = stdout.split("\0");
  return optionsOf(target, host).flatMap(({ name, value }) => {
    const key = `${name.toLowerCase()}\n`;
    const used = entries.findLast((each) => each.startsWith(key))?.slice(key.length);
    return used === value
      ? []
      : [
          `git takes ${used === undefined ? "nothing" : foreign(used)} as ${name}, not ${value}: git config --show-origin --get ${name} shows where that is set`,
        ];
  });
}

const clientPair: Store = {
  ...pair,
  ...(clientFiles.keyFile && { keyFile: clientFiles.keyFile }),
  async observe(target, material, host) {
    const { certificates, differences } = await pair.observe(target, material, host);
    if (differences.length === 0) differences.push(...(await faultsInUse(target, host)));
    return { certificates, differences };
  },
  /** An earlier release wrote into the system's settings, where git of every user finds it. */
  async misplaced(target, ownership, host) {
    const files = await misplacedIn(clientFiles, target, ownership, host);
    const others = otherClaims(Object.keys(ownership), optionsOf(target, host));
    return {
      names: [...others.map(({ claim }) => claim), ...files.names],
      async remove(transaction) {
        for (const { setting } of others) await setting.remove(transaction);
        await files.remove(transaction);
      },
    };
  },
};

export const gitBundle = storeBy(({ materialType }) => (materialType === "client_certificate" ? clientPair : authorities));
