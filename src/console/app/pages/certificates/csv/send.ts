import { ApiError, read, write } from "../../../api";
import { type Import, type Outcome, settle } from "./progress";
import type { Entry } from "./rows";

type Block = { index: number; id: string; commonName?: string };
type Report = { imported: Block[]; duplicates: Block[]; refused: { index: number; message: string }[] };

/** Refusals that each row would get, so that none is tried any more: signed out, no right, no server. */
const FINAL = [0, 401, 403];

/** Sends the rows that are ready, one after the other. `certificates` is the path of the organization's certificates. */
export async function sendRows(whole: Import, certificates: string, signal: AbortSignal) {
  for (const row of whole.rows) {
    if (signal.aborted) return;
    if (!("entry" in row) || row.outcome.value.state !== "ready") continue;
    settle(whole, row, { state: "sending" });
    try {
      settle(whole, row, await sendEntry(row.entry, certificates));
    } catch (error) {
      const isFinal = error instanceof ApiError && FINAL.includes(error.status);
      settle(whole, row, isFinal ? { state: "ready" } : { state: "refused", problem: (error as Error).message });
      if (isFinal) throw error;
    }
  }
}

/** Imports the certificate, then notes what the row says of it: of one that was known before, too. */
async function sendEntry({ pem, privateKeyPem, ...notes }: Entry, certificates: string): Promise<Outcome> {
  const { imported, duplicates, refused } = await write<Report>("POST", certificates, { body: { pem, ...(privateKeyPem && { privateKeyPem }) } });
  const [bad] = refused;
  if (bad) return { state: "refused", problem: `Certificate ${bad.index + 1} of the cell: ${bad.message}` };
  const isNew = imported.some(({ index }) => index === 0);
  const { id = "", commonName } = [...imported, ...duplicates].find(({ index }) => index === 0) ?? {};
  if (Object.keys(notes).length > 0) {
    const { version } = await read<{ version: number }>(`${certificates}/${id}`);
    await write("PATCH", `${certificates}/${id}`, { body: notes, version });
  }
  return { state: isNew ? "new" : "known", id, name: commonName ?? "" };
}
