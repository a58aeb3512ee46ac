import { join } from "node:path";
import { type Host, pathOn } from "../host/host";
import { findGroup, findUser } from "../host/user";
import { type Store, storeBy, type Target } from "../store";
import { directoryStore } from "./directory";
import type { Part } from "./layout";
import { bundleOfOthers } from "./pem-bundle";

/** The certificate and key of whatever reads them from PEM files. */
const certificateFiles = directoryStore({
  takesOver: true,
  hasMoved: true, // a keyDirectory that begins with ~/ was a directory of that name
  parts: partsOf,
  check(_directory, target, host) {
    const names = partsOf(target, host).map(({ name }) => name);
    const double = names.find((name, index) => names.indexOf(name) !== index);
    if (double) throw new Error(`The config names ${double} twice. A file of certificate and key together is config.combinedFileName.`);
  },
  async ownerOf({ config: { fileOwner, fileGroup } }, host) {
    const uid = fileOwner === undefined ? undefined : (await findUser(host, fileOwner, "fileOwner")).uid;
    const gid = fileGroup === undefined ? undefined : await findGroup(host, fileGroup, "fileGroup");
    return { ...(uid !== undefined && { uid }), ...(gid !== undefined && { gid }) };
  },
});

const certificateAndKey: Store = {
  ...certificateFiles,
  install(target, material, transaction) {
    const isKeyless = !partsOf(target, transaction.host).some(({ holds }) => holds.endsWith("key"));
    if (material.privateKey !== null && isKeyless)
      throw new Error("The assignment includes the private key, but its config names no file for it: name config.keyFileName or config.combinedFileName.");
    return certificateFiles.install(target, material, transaction);
  },
};

/** The authorities that it accepts: a block for each in one bundle. */
const authorities = bundleOfOthers((target, host) => join(directoryOf(target, host), target.config.caFileName ?? "ca.crt"));

/** PEM files, as many and as combined as their reader wants them. */
export const pemFiles = storeBy(({ materialType }) => (materialType.endsWith("_certificate") ? certificateAndKey : authorities));

function directoryOf({ config: { trustStorePath } }: Target, host: Host) {
  if (trustStorePath === undefined) throw new Error("config.trustStorePath is required for pem_files without a preset: the directory of the files.");
  return pathOn(host, trustStorePath, "trustStorePath");
}

function partsOf({ config }: Target, host: Host): Part[] {
  const { certFileName, chainFileName, fullChainFileName, keyFileName, combinedFileName, keyDirectory } = config;
  const secret = (name: string) => (keyDirectory === undefined ? name : join(pathOn(host, keyDirectory, "keyDirectory"), name));
  const isAlone = chainFileName !== undefined || fullChainFileName !== undefined;
  const parts: (Part | undefined)[] = [
    certFileName === undefined ? undefined : { name: certFileName, holds: isAlone ? "certificate" : "chain" },
    chainFileName === undefined ? undefined : { name: chainFileName, holds: "issuers" },
    fullChainFileName === undefined ? undefined : { name: fullChainFileName, holds: "chain" },
    keyFileName === undefined ? undefined : { name: secret(keyFileName), holds: "key" },
    combinedFileName === undefined ? undefined : { name: secret(combinedFileName), holds: "chain and key" },
  ];
  return parts.filter((each) => each !== undefined);
}
