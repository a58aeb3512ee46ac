import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { MaterialType } from "#modules/fleet/trust-stores/rules/catalogue";
import { isInstallable } from "#modules/fleet/trust-stores/rules/installable";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { type Authority, authorityOf } from "../authority";
import { type Host, pathOn } from "../host/host";
import { isAuthority } from "../host/pem";
import { isInSystemStore, type Material, type Target } from "../store";
import { endpointOf } from "./endpoints";
import { seenFrom } from "./links";
import { type PathDemand, PLACES } from "./places";

/** One thing that an assignment asks of this host. */
export type Demand =
  | PathDemand
  | { kind: "store"; type: string }
  | { kind: "anchor"; type: string; authority: Authority }
  | { kind: "reload"; argv: string[] }
  | { kind: "node flag"; flag: string }
  | { kind: "password"; reference: string }
  | { kind: "endpoint"; endpoint: string }
  | { kind: "account"; name: string }
  | { kind: "file owner"; name: string; field: string }
  | { kind: "value"; storeType: TrustStoreType; field: string; value: string | string[] }
  | { kind: "key mode"; mode: string; holdsKey: boolean }
  | { kind: "private key" }
  | { kind: "challenge port"; port: number };

/** The demands of a removal: the files may be anywhere, but programs still run and secrets are still read. */
const AT_REMOVAL: Demand["kind"][] = ["reload", "password", "account", "python", "module"];
const NOT_FOR_READING: Demand["kind"][] = ["reload", "endpoint", "node flag", "key mode", "file owner"];
/** Stores in which `dbUser` is an account of this host; elsewhere it is a login of a database. */
const ACCOUNT_STORES: string[] = ["nss_shared_db", "nss_firefox_profile", "postgresql_client_tls"];

/** Returns everything that an assignment asks of this host, before anything of it is done. */
export function demandsOf(target: Target, hasPrivateKey: boolean, host: Host): Demand[] {
  const { storeType, config } = target;
  if (!isInstallable(storeType)) return []; // no store's code will run
  const demands: Demand[] = [...storesOf(target, host), ...valuesOf(target), ...PLACES[storeType](target, host), ...programsOf(target, host)];
  const { dbUser, storePasswordRef, keyPermissionMode, verifyEndpoint } = config;
  if (dbUser !== undefined && ACCOUNT_STORES.includes(storeType)) demands.push({ kind: "account", name: dbUser });
  if (storePasswordRef && !storePasswordRef.startsWith("vault:")) demands.push({ kind: "password", reference: storePasswordRef });
  if (hasPrivateKey) demands.push({ kind: "private key" });
  if (keyPermissionMode !== undefined) demands.push({ kind: "key mode", mode: keyPermissionMode, holdsKey: hasPrivateKey });
  demands.push(...ownersOf(config));
  if (verifyEndpoint && isProbed(target.materialType)) demands.push({ kind: "endpoint", endpoint: endpointOf(verifyEndpoint) });
  return demands;
}

/**
 * Returns the trust that is asked for: in an authority, or in any certificate of a Java keystore. One whose key never left this
 * host (`isOwnKey`) is not trusted by that.
 */
export function anchorDemandsOf(target: Target, { certificate, chain }: Material, host: Host, isOwnKey: boolean): Demand[] {
  const isTrustedAlone = isOfJava(target.storeType) && !isOwnKey;
  if (target.materialType.endsWith("_certificate") && !isAuthority(certificate) && !isTrustedAlone) return [];
  const authority = authorityOf(certificate, chain);
  // Debian's certifi leads to the system's store, which only its Python says: the rule for both must permit it.
  const mayLeadToSystem = target.storeType === "python_certifi" && target.config.trustStorePath === undefined;
  const types = new Set([...storeTypesOf(target, host), ...(mayLeadToSystem || leadsToSystem(target, host) ? [SYSTEM_STORE] : [])]);
  return [...types].map((type) => ({ kind: "anchor", type, authority: isReadByJava(type, host) ? { ...authority, names: undefined } : authority }));
}

const isOfJava = (type: string) => type.startsWith("java_");

/** Java takes no notice of an anchor's own name constraints; the system's tools fill its store too, where the host has one. */
const isReadByJava = (type: string, { system, caTrust }: Host) =>
  isOfJava(type) ||
  (type === SYSTEM_STORE && existsSync(system.javaStore)) ||
  (type === "linux_update_ca_trust" && existsSync(join(dirname(caTrust.bundle), "../java/cacerts")));

/** Returns true where the config names the system's bundle, by whatever link. */
const leadsToSystem = ({ config: { trustStorePath } }: Target, host: Host) =>
  trustStorePath !== undefined && seenFrom(pathOn(host, trustStorePath, "trustStorePath")).some((each) => seenFrom(host.system.bundle).includes(each));

/** The words of the config, which reach tools, names of files and settings; the alias also where it was made of the id. */
const valuesOf = ({ storeType, alias, config }: Target): Demand[] =>
  Object.entries({ ...config, alias }).flatMap(([field, value]) => (typeof value === "boolean" ? [] : [{ kind: "value" as const, storeType, field, value }]));
const SYSTEM_STORE = "linux_update_ca_certificates";

/** The store, and the system's where that is to be used instead. */
const storeTypesOf = (target: Target, host: Host) => [target.storeType, ...(isInSystemStore(target, host) ? [SYSTEM_STORE] : [])];
const storesOf = (target: Target, host: Host): Demand[] => storeTypesOf(target, host).map((type) => ({ kind: "store", type }));

/** Returns the desired owners of the files; a group begins with a colon. */
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
