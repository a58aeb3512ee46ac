import { dirname, join } from "node:path";
import type { Work } from "../attempt";
import { findEntry, ownerOf, readSnapshot, removeWhole, textOf } from "../host/files";
import { privateKeyIn } from "../host/pem";
import { isKeyOf } from "../host/private-key";
import type { Desired, DesiredState } from "../server-client";
import { revisionOf } from "../state";
import type { Material, Target } from "../store";
import { storeOf } from "../stores/stores";
import type { KeyRecord } from "./key-records";

type Finding = Pick<Work, "host" | "state">;

/**
 * Returns where a request's key waits: beside its final file, as closed as that, under a name that no program reads, or in the
 * agent's directory where a tool puts it in or the place is missing.
 */
export async function waitingPlaceOf(requestId: string, target: Target, { host, state: { keys } }: Finding) {
  const file = await keyFileOf(target, host);
  const directory = file && dirname(file.path);
  if (!file || !directory || !(await findEntry(directory))) return keys.ownPlace(requestId);
  return { path: join(directory, `.certitude-${requestId}.pending`), attributes: { mode: file.mode, ...(await ownerOf(directory)), ...file.owner } };
}

const keyFileOf = async (target: Target, host: Work["host"]) => storeOf(target.storeType).keyFile?.(target, host);

/** The private key that lies in a file, alone or with certificates; undefined where there is none. */
export const readKeyFile = async (path: string) => privateKeyIn(textOf(await readSnapshot(path)));

const readWaiting = async ({ path }: KeyRecord) => (path === undefined ? undefined : readKeyFile(path));

/**
 * Adds the host's own key to a certificate: the waiting one, else the installed one, before a move the one in the former place.
 * A key inside a tool's store stays there.
 */
export async function withOwnKey(material: Material, target: Target, former: Target | undefined, { host, state: { keys } }: Finding): Promise<Material> {
  const own = [...keys.records.values()].filter(({ assignmentId }) => assignmentId === target.assignmentId);
  const readers = [
    ...own.map((record) => () => readWaiting(record)),
    ...[target, ...(former ? [former] : [])].map((place) => async () => {
      const file = await keyFileOf(place, host);
      return file && readKeyFile(file.path);
    }),
  ];
  for (const read of readers) {
    const privateKey = await read();
    if (privateKey !== undefined && isKeyOf(material.certificate, privateKey)) return { ...material, privateKey: `${privateKey.trimEnd()}\n` };
  }
  return material;
}

/** Returns whether a key of the host's own can be read from its installed place. */
export const isKeyReadable = async (target: Target, host: Work["host"]) => (await keyFileOf(target, host)) !== undefined;

/** Takes away each key that no certificate will come for, or that is installed by now. */
export async function forgetUnasked({ keys: requests = [], items, keep }: Pick<DesiredState, "keys" | "items" | "keep">, work: Work) {
  const asked = new Set(requests.map(({ requestId }) => requestId));
  const kept = new Set(keep);
  const desired = new Map(items.map((item) => [item.id, item]));
  for (const record of work.state.keys.records.values()) {
    const { requestId, assignmentId } = record;
    if (asked.has(requestId) || kept.has(assignmentId)) continue;
    const item = desired.get(assignmentId);
    if (item && (await isStillWaiting(record, item, work))) continue;
    await forgetKey(record, work);
  }
}

/** Returns whether the certificate of the key has come and is not installed yet. */
async function isStillWaiting(record: KeyRecord, item: Desired, { state }: Work) {
  if (state.records.get(item.id)?.verifiedRevision === revisionOf(item)) return false;
  const key = await readWaiting(record);
  return key !== undefined && isKeyOf(item.pem, key);
}

/** Takes a key away, with what a killed agent has left of it. */
export async function forgetKey(record: KeyRecord, { state: { keys }, log }: Pick<Work, "state" | "log">) {
  const { path, requestId } = record;
  if (path !== undefined) {
    log.info({ path, request: requestId }, "removing the file of a private key");
    await removeWhole(path);
  }
  await keys.forget(record);
}
