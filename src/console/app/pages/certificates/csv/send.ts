import { below, inOrganization, read, write } from "../../../api";
import { ApiError, toError } from "../../../errors";
import type { OrganizationAddress } from "../../../operations";
import { type Import, type Outcome, settle } from "./progress";
import type { CertificateEntry } from "./rows";

/** Refusals that each row would get, so that none is tried any more: signed out, no right, no server. */
const FINAL = [0, 401, 403];

/** Sends the rows that are ready, one after the other. */
export async function sendRows(whole: Import, signal: AbortSignal) {
  const certificates = inOrganization("certificates"); // of the organization that is shown now, whatever is shown later
  for (const row of whole.rows) {
    if (signal.aborted) return;
    if (!("entry" in row) || row.outcome.value.state !== "ready") continue;
    settle(whole, row, { state: "sending" });
    try {
      settle(whole, row, await sendEntry(row.entry, certificates));
    } catch (error) {
      const isFinal = error instanceof ApiError && FINAL.includes(error.status);
      settle(whole, row, isFinal ? { state: "ready" } : { state: "refused", problem: toError(error).message });
      if (isFinal) throw error;
    }
  }
}

/** Imports the certificate, then notes what the row says of it: of one that was known before, too. */
async function sendEntry({ pem, privateKeyPem, ...notes }: CertificateEntry, certificates: OrganizationAddress<["certificates"]>): Promise<Outcome> {
  const { imported, duplicates, refused } = await write("POST", certificates, { body: { pem, ...(privateKeyPem && { privateKeyPem }) } });
  const [bad] = refused;
  if (bad) return { state: "refused", problem: `Certificate ${bad.index + 1} of the cell: ${bad.message}` };
  const isNew = imported.some(({ index }) => index === 0);
  const [first] = [...imported, ...duplicates].filter(({ index }) => index === 0);
  const { id = "" } = first ?? {};
  if (Object.keys(notes).length > 0) {
    const { version } = await read(below(certificates, id));
    await write("PATCH", below(certificates, id), { body: notes, version });
  }
  return { state: isNew ? "new" : "known", id, name: first && "commonName" in first ? first.commonName : "" };
}
