import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { BackupError } from "#backup/format";
import { restoreBackup } from "#backup/restore";
import { type Verified, verifyBackup } from "#backup/verify";
import { writeBackup } from "#backup/write";
import type { Config } from "#config";
import { readKeyring } from "#crypto/keyring";
import { readKeys } from "#crypto/secrets-file";
import { createStamps } from "#crypto/stamps";
import type { Db } from "#db/connect";
import { checkKeys } from "#db/secret-keys";
import { createQueue } from "#jobs/queue";
import { prepareQueues } from "#jobs/start";
import { createLog } from "#log/log";
import { enqueueAgain } from "#mail/outbox";
import { openSource } from "#maintenance/backup-source";
import { stampRestored } from "#maintenance/stamping";
import { findUnfinished, INDEX_DOCUMENT } from "#modules/knowledge/documents/queries/indexing";
import { createFileStore } from "#storage/files";
import { CommandError } from "./command-error";
import { readConfigOrExit, withDatabase } from "./environment";

export const addBackup = (program: Command) =>
  program
    .command("backup")
    .argument("<file>", "a new file")
    .description("Write all rows and documents into one file, while servers serve.")
    .addHelpText("after", "\nThe file does not hold SECRETS_KEY: keep that apart. Without it none of the secrets in the file opens.")
    .action((file: string) => named(file, () => backup(file)));

export const addRestore = (program: Command) =>
  program
    .command("restore")
    .argument("<file>", "what backup wrote")
    .option("--verify", "only check the file: its proof, checksums, counts, objects, and a secret of each key; nothing is written")
    .option("--without-proof", "take a file of a release that made no proof, which anyone who could write to it may have changed")
    .description("Load a backup into an empty database: all of it, or nothing.")
    .action((file: string, options: Restoring) => named(file, () => restore(file, options)));

type Restoring = { verify?: boolean; withoutProof?: boolean };

/** Puts the file's name before what is wrong with it. */
async function named(file: string, work: () => Promise<void>) {
  try {
    await work();
  } catch (error) {
    const isFileError = typeof (error as NodeJS.ErrnoException).syscall === "string";
    if (!(error instanceof BackupError) && !isFileError) throw error;
    throw new CommandError(`${file}: ${(error as Error).message}`);
  }
}

async function backup(file: string) {
  const dataDir = embeddedDirectory();
  if (dataDir && !existsSync(join(dataDir, "postgres"))) throw new CommandError(`There is no database in ${dataDir}. Is DATA_DIR the right one?`, 2);
  const config = readConfigOrExit();
  const { sql, objects, stop } = await openSource(config);
  try {
    const totals = await writeBackup(resolve(file), sql, createStamps(config.keyring), objects, console.error);
    console.info(`${file}: ${describe(totals)}. It does not hold SECRETS_KEY, without which none of its secrets opens.`);
    console.info(`Keep a copy of ${config.secretsFile ?? "SECRETS_KEY"} apart from the backup.`);
    if (totals.missing.length > 0) throw new CommandError(`The backup is whole but for objects that are not in the store: ${totals.missing.join(", ")}.`);
  } finally {
    await stop();
  }
}

async function restore(file: string, { verify = false, withoutProof = false }: Restoring) {
  const keyring = findKeyring();
  const verified = await verifyBackup(resolve(file), keyring, { needsProof: !withoutProof });
  const { header, totals, keyIds, isProven } = verified;
  const keys = keyIds.length > 0 ? ` SECRETS_KEY opens the secrets of ${keyIds.join(", ")}.` : "";
  const proof = isProven ? "" : " Nothing proves that a server wrote it as it is.";
  if (verify) return console.info(`${file} is whole: of ${header.madeAt} by certitude ${header.release}, ${describe(totals)}.${keys}${proof}`);
  await withDatabase((db, config) => load(file, verified, db, config), { isBare: true });
  console.info(`${file} is restored: ${describe(totals)}.${keys}${proof}`);
}

async function load(file: string, verified: Verified, { $client: sql }: Db, { keyring, dataDir }: Config) {
  const queue = createQueue({ sql, log: createLog("silent") });
  await prepareQueues({ queue });
  try {
    await restoreBackup(resolve(file), verified, {
      sql,
      store: createFileStore(join(dataDir, "objects"), keyring),
      report: console.error,
      async finish(tx) {
        const wrongKeys = await checkKeys(tx, keyring);
        if (wrongKeys) throw new CommandError(wrongKeys, 2);
        await stampRestored(tx, keyring, verified);
        for (const job of await findUnfinished(tx)) await queue.send(tx, INDEX_DOCUMENT, job.jobId, job);
        await enqueueAgain(tx, queue);
      },
    });
  } finally {
    await queue.stop();
  }
}

const describe = ({ rows, objects, bytes }: Verified["totals"]) =>
  `${Object.values(rows).reduce((sum, each) => sum + each, 0)} rows of ${Object.keys(rows).length} tables, ${objects} objects of ${bytes} bytes`;

const dataDirectory = () => resolve(Bun.env.DATA_DIR?.trim() || "./data");
/** Returns the directory of the embedded database, undefined with DATABASE_URL; nothing is made there. */
const embeddedDirectory = () => (Bun.env.DATABASE_URL?.trim() ? undefined : dataDirectory());

/** The keys at hand, read without making any: a new one opens no backup. */
function findKeyring() {
  const file = join(dataDirectory(), "secrets.json");
  const isKept = embeddedDirectory() && existsSync(file);
  const SECRETS_KEY = Bun.env.SECRETS_KEY?.trim() || (isKept ? readKeys(file).join() : "");
  if (!SECRETS_KEY)
    throw new CommandError(`SECRETS_KEY is needed, the one of the backup: set it, or put the secrets.json that was kept with it at ${file}.`, 2);
  const { keyring, faults } = readKeyring(SECRETS_KEY);
  if (faults.length > 0) throw new CommandError(faults.join("\n"), 2);
  return keyring;
}
