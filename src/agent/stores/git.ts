import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { absent } from "../host/files";
import { type Host, pathOn } from "../host/host";
import { gitSetting } from "../settings/git-setting";
import { pointedStore } from "../settings/pointed";
import type { Target } from "../store";
import { directoryStore } from "./directory";
import { bundleOrOs } from "./variables";

/** git, by its settings for the whole system where the agent is root, else by those of the agent's user. */
export const gitFileOn = ({ environment, home }: Host) =>
  environment.GIT_CONFIG_SYSTEM ?? (process.getuid?.() === 0 ? "/etc/gitconfig" : join(home, ".gitconfig"));

/** A client certificate is one user's, the agent's: git of any other user fails where the system's settings name a key that this user cannot read. */
export const ownGitFileOn = ({ home }: Host) => join(home, ".gitconfig");
const directoryOn = (host: Host) => `${ownGitFileOn(host)}.d`;
const certificateName = ({ config, alias }: Target) => config.certFileName ?? `${alias}.crt`;
const keyName = ({ config, alias }: Target) => config.keyFileName ?? `${alias}.key`;

/** The certificate that git presents, with its key. */
const clientFiles = directoryStore({
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

export const gitBundle = pointedStore((target, host) => {
  const file = gitFileOn(host);
  if (target.materialType !== "client_certificate") return bundleOrOs(target, host, file, (path) => gitSetting({ file, name: "http.sslCAInfo" }, path));
  const directory = pathOn(host, target.config.trustStorePath ?? directoryOn(host), "trustStorePath");
  const own = ownGitFileOn(host);
  const settings = [
    gitSetting({ file: own, name: "http.sslCert" }, join(directory, certificateName(target))),
    gitSetting({ file: own, name: "http.sslKey" }, join(directory, keyName(target))),
  ];
  return { anchors: clientFiles, settings };
});
