import { randomBytes } from "node:crypto";
import { type Config, ConfigError } from "#config";
import { formerFile, keepFormer, readKeys, writeKeys } from "#crypto/secrets-file";
import { ALL_LEVELS, createStamps } from "#crypto/stamps";
import type { Pool } from "#db/connect";
import { resealAll } from "#db/reseal";
import { checkKeys, retireKeys } from "#db/secret-keys";
import { addPlatformEvent } from "#modules/people/audit/queries";
import type { Report } from "./socket";
import { restampAll } from "./stamped-rows";
import { readMarkers, writeMarker } from "./stamping-markers";

type Ring = Pick<Config, "keyring" | "secretsFile">;

/**
 * Seals and stamps everything with the first key of SECRETS_KEY, while servers run; a key that we keep is made first. After a
 * kill it can be run again.
 */
export async function rotateSecrets(sql: Pool, { keyring, secretsFile }: Ring, report: Report) {
  if (secretsFile) makeKey(secretsFile, keyring);
  const [current = "", ...former] = keyring.ids();
  const wrongKeys = await checkKeys(sql, keyring);
  if (wrongKeys) throw new ConfigError([wrongKeys]);
  report(`Sealing with the key ${current}.`);
  const totals = await resealAll(sql, keyring, ({ table, resealed }) => report(`${table}: ${resealed} resealed`));
  const stamps = createStamps(keyring);
  const markers = await readMarkers(sql, stamps);
  const restamped = await restampAll(sql, stamps, { choice: "what a former key stamped", levels: ALL_LEVELS, keyId: current }, ({ table, column, stamped }) =>
    report(`${table}: ${stamped} of ${column} stamped`),
  );
  for (const { level, marker } of markers) if (marker) await writeMarker(sql, stamps, level, marker);
  const unreadable = totals.filter((each) => each.unreadable > 0);
  for (const each of unreadable) report(`${each.table}: ${each.unreadable} values are left as they are, because no key of SECRETS_KEY opens them.`);
  for (const { table, column, unproven } of restamped.filter((each) => each.unproven > 0))
    report(`${table}: ${unproven} of ${column} are left as they are, because no key of SECRETS_KEY made them: such rows are held.`);
  await retireKeys(sql, keyring);
  const rotated = { action: "secrets.rotated", targetType: "secret-key", targetId: current, details: { former, totals, restamped } };
  if (former.length > 0) await addPlatformEvent(sql, { actor: { type: "command-line" }, requestId: null }, rotated);
  report(
    `Done: ${totals.reduce((sum, { resealed }) => sum + resealed, 0)} values resealed (${totals.map((each) => `${each.table} ${each.resealed}`).join(", ")}).`,
  );
  if (secretsFile) endRotation(secretsFile, former, report);
  else if (former.length > 0) report(`Nothing is sealed with ${former.join(", ")} any more: SECRETS_KEY may drop it. Older backups still need it.`);
  else report("SECRETS_KEY lists one key. To rotate it, put a new one before it: SECRETS_KEY=new,old.");
}

/**
 * Makes a key and puts it before the others, in the file first: what is sealed with it must open after a kill. An unfinished
 * rotation has its key.
 */
function makeKey(file: string, keyring: Ring["keyring"]) {
  const keys = readKeys(file);
  if (keys.length > 1) return;
  const key = randomBytes(32);
  keepFormer(file, keyring.ids()[0] ?? "");
  writeKeys(file, [key.toString("base64"), ...keys]);
  keyring.addFirst(key);
}

function endRotation(file: string, former: string[], report: Report) {
  writeKeys(file, readKeys(file).slice(0, 1));
  report(`${file} holds the new key alone. Keep a copy of it, apart from backups.`);
  for (const id of former) report(`Older backups still need the former key, which is kept in ${formerFile(file, id)}: move it to them, or delete it.`);
}
