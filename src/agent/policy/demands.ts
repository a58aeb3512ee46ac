import type { MaterialType } from "#modules/fleet/trust-stores/rules/catalogue";
import { isInstallable } from "#modules/fleet/trust-stores/rules/installable";
import { type Host, pathOn } from "../host/host";
import { isInSystemStore, type Target } from "../store";
import { endpointOf } from "./endpoints";
import { type PathDemand, PLACES } from "./places";

/** One thing that an assignment asks of this host. */
export type Demand =
  | PathDemand
  | { kind: "store"; type: string }
  | { kind: "reload"; argv: string[] }
  | { kind: "node flag"; flag: string }
  | { kind: "password"; reference: string }
  | { kind: "endpoint"; endpoint: string }
  | { kind: "account"; name: string }
  | { kind: "file owner"; name: string; field: string }
  | { kind: "server name"; name: string }
  | { kind: "key mode"; mode: string; holdsKey: boolean }
  | { kind: "private key" }
  | { kind: "challenge port"; port: number };

/** What is still done for an assignment once it is not desired any more: its own files go wherever they are, but programs run and secrets are read. */
const AT_REMOVAL: Demand["kind"][] = ["reload", "password", "account", "python", "module"];
const NOT_FOR_READING: Demand["kind"][] = ["reload", "endpoint", "server name", "node flag", "key mode", "file owner"];
/** Stores in which `dbUser` is an account of this host; elsewhere it is a login of a database. */
const ACCOUNT_STORES: string[] = ["nss_shared_db", "nss_firefox_profile", "postgresql_client_tls"];

/** Returns everything that an assignment asks of this host, before anything of it is done. */
export function demandsOf(target: Target, hasPrivateKey: boolean, host: Host): Demand[] {
  const { storeType, config } = target;
  if (!isInstallable(storeType)) return []; // no store's code will run
  const demands: Demand[] = [...storesOf(target, host), ...PLACES[storeType](target, host), ...programsOf(target, host)];
  const { dbUser, storePasswordRef, keyPermissionMode, verifyEndpoint, verifyServerName } = config;
  if (dbUser !== undefined && ACCOUNT_STORES.includes(storeType)) demands.push({ kind: "account", name: dbUser });
  if (storePasswordRef && !storePasswordRef.startsWith("vault:")) demands.push({ kind: "password", reference: storePasswordRef });
  if (hasPrivateKey) demands.push({ kind: "private key" });
  if (keyPermissionMode !== undefined) demands.push({ kind: "key mode", mode: keyPermissionMode, holdsKey: hasPrivateKey });
  demands.push(...ownersOf(config));
  if (verifyServerName !== undefined) demands.push({ kind: "server name", name: verifyServerName });
  if (verifyEndpoint && isProbed(target.materialType)) demands.push({ kind: "endpoint", endpoint: endpointOf(verifyEndpoint) });
  return demands;
}

/** The store, and the system's where that is to be used instead. */
function storesOf(target: Target, host: Host): Demand[] {
  const { storeType } = target;
  return [storeType, ...(isInSystemStore(target, host) ? ["linux_update_ca_certificates"] : [])].map((type) => ({ kind: "store", type }));
}

/** Whom the files are to belong to; a group with a colon before it. */
const ownersOf = ({ fileOwner, fileGroup }: Target["config"]): Demand[] => [
  ...(fileOwner === undefined ? [] : [{ kind: "file owner" as const, name: fileOwner, field: "fileOwner" }]),
  ...(fileGroup === undefined ? [] : [{ kind: "file owner" as const, name: `:${fileGroup}`, field: "fileGroup" }]),
];

function programsOf({ config: { pythonVenvPath, nodeFlags = [], reloadCommand } }: Target, host: Host): Demand[] {
  const field = "pythonVenvPath";
  return [
    ...(pythonVenvPath === undefined ? [] : [{ kind: "python" as const, path: pathOn(host, pythonVenvPath, field), field }]),
    ...nodeFlags.map((flag) => ({ kind: "node flag" as const, flag })),
    ...(reloadCommand ? [{ kind: "reload" as const, argv: reloadCommand }] : []),
  ];
}

const isProbed = (materialType: MaterialType) => materialType !== "client_certificate";

/** Returns what removing it asks. */
export const removalDemandsOf = (target: Target, host: Host) => demandsOf(target, false, host).filter(({ kind }) => AT_REMOVAL.includes(kind));

/** Returns what looking for it asks, of an assignment that was not installed by any record. */
export const readingDemandsOf = (target: Target, host: Host) => demandsOf(target, false, host).filter(({ kind }) => !NOT_FOR_READING.includes(kind));
