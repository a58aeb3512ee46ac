import { join } from "node:path";
import { type Host, pathOn } from "../host/host";
import { actAs, findUser } from "../host/user";
import { osAnchor } from "../settings/os-anchor";
import { type Store, storeBy, type Target } from "../store";
import { directoryStore, nameOf } from "./directory";
import { bundleOfOthers } from "./pem-bundle";

const CLIENT_CERTIFICATE = "postgresql.crt";

const accountOf = ({ config: { dbUser } }: Target, host: Host) => (dbUser === undefined ? undefined : findUser(host, dbUser));
const defaultDirectory = async (host: Host, target: Target) => join((await accountOf(target, host))?.home ?? host.home, ".postgresql");
const directoryOf = async (target: Target, host: Host) =>
  pathOn(host, target.config.trustStorePath ?? (await defaultDirectory(host, target)), "trustStorePath");

/** The certificate that psql and all of libpq present, with its key. */
const pair = directoryStore({
  defaultDirectory,
  needsKey: true,
  parts: (target) => [
    { name: nameOf(target, "certFileName"), holds: "chain" },
    { name: nameOf(target, "keyFileName"), holds: "key" },
  ],
  async ownerOf(target, host) {
    const account = await accountOf(target, host);
    return account ? { uid: account.uid, gid: account.gid } : {};
  },
});

/** A name for a client certificate, which is the default, says nothing about the authorities. */
const bundleName = ({ config: { certFileName } }: Target) => (certFileName && certFileName !== CLIENT_CERTIFICATE ? certFileName : "root.crt");
const authorities = bundleOfOthers(async (target, host) => join(await directoryOf(target, host), bundleName(target)));

/** The directory belongs to the account that runs the programs that read it. */
const inOwnDirectory = (store: Store): Store => ({
  ...store,
  async install(target, material, transaction) {
    const account = await accountOf(target, transaction.host);
    const user = account && actAs(account, `The directory of ${target.config.dbUser}`);
    await transaction.makeDirectory(await directoryOf(target, transaction.host), user);
    await store.install(target, material, transaction);
  },
  async remove(target, transaction, certificate) {
    const isForeign = await store.remove(target, transaction, certificate);
    await transaction.removeEmptyDirectories(await directoryOf(target, transaction.host));
    return isForeign;
  },
});

const [ownPair, ownAuthorities] = [inOwnDirectory(pair), inOwnDirectory(authorities)];

/** The store of libpq in a user's home; or the system's, which it reads with sslrootcert=system. */
export const postgresClient = storeBy(({ materialType, config }) => {
  if (materialType === "client_certificate") return ownPair;
  return config.preferOsStore ? osAnchor : ownAuthorities;
});
