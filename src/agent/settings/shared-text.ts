import { bytesOf, readSnapshot } from "../host/files";
import type { Transaction } from "../transaction/transaction";

/** The first line of a file that was not there before: once nothing but it is left, the file goes too. */
const MADE = "# Made by the Certitude agent, and removed with the last of its entries.\n";

const toText = (bytes: Buffer) => bytes.toString("latin1");

/** A file's text, byte for byte as latin1; undefined where there is none. */
export async function readText(path: string) {
  const found = await readSnapshot(path);
  return found && toText(bytesOf(found));
}

/** Returns `words` in the form in which a text is read. */
export const asRead = (words: string) => toText(Buffer.from(words));

/** Alters a file that others may write too. */
export async function changeText(transaction: Transaction, path: string, alter: (text: string) => string) {
  const before = await readText(path);
  const after = alter(before ?? MADE);
  if (after === (before ?? MADE)) return;
  await transaction.editShared(path, after === MADE ? null : Buffer.from(after, "latin1"));
}
