import { readFileSync } from "node:fs";
import { connectDatabase } from "#db/connect";
import type { Authorities } from "./authorities";
import { type Certitude, runToEnd } from "./certitude";
import { createSearch, keyHashOf } from "./keys";
import type { Fault } from "./prober";

type Row = {
  name: string;
  issuerId: string;
  status: string;
  reason: string | null;
  replaces: string | null;
  pem: string | null;
  isRetired: boolean;
  stage: string | null;
  isFinalizing: boolean;
};

/** Reads every request, with the certificate that came of it. */
async function readRequests({ databaseUrl }: Certitude) {
  const { $client: sql } = connectDatabase(databaseUrl, { max: 1 });
  const rows = await sql<Row[]>`
    select r.names->0->>'value' as name, r.issuer_id as "issuerId", r.status, r.reason, r.replaces, c.pem, coalesce(c.status = 'retired', false) as "isRetired",
      r.progress->>'stage' as stage, coalesce((r.progress->>'isFinalizing')::boolean, false) as "isFinalizing"
    from certificate_requests r left join certificates c on c.organization_id = r.organization_id and c.id = r.certificate_id order by r.id`;
  await sql.end();
  return [...rows];
}

/** Each certificate was renewed by one request, and each request made one order at the CA; another follows only one that failed for good. */
function judgeOrders(rows: Row[], { tally, issuerIds }: Authorities, fault: (where: string, what: string) => void) {
  for (const [name, own] of Map.groupBy(rows, (row) => row.name))
    for (const [replaces, same] of Map.groupBy(own, (row) => row.replaces)) {
      const live = same.filter(({ status }) => status !== "failed");
      if (live.length > 1) fault(name, `was ordered ${live.length} times ${replaces ? `in place of ${replaces}` : "at first"}`);
    }
  const acme = rows.filter(({ issuerId }) => issuerId === issuerIds.acme);
  const isOpen = ({ status }: Row) => !["issued", "failed", "cancelled"].includes(status);
  const { orders, issued } = tally();
  const expect = (what: string, counted: number, sure: number, possible: number) => {
    if (counted < sure || counted > sure + possible) fault("Pebble", `${what} ${counted} times for ${sure} requests, and ${possible} that may be on their way`);
  };
  // An order may be made, and a certificate issued, of which the server did not know before it stopped.
  expect("took orders", orders, acme.filter((row) => !isOpen(row) || row.stage === "ordered").length, acme.filter(({ stage }) => stage === "ordering").length);
  expect("issued", issued, acme.filter(({ pem }) => pem).length, acme.filter((row) => isOpen(row) && row.isFinalizing).length);
}

/** No form of any key is in what hosts and server sent each other, in their logs, or in the database. */
async function judgeSecrecy(
  rows: Row[],
  keys: ReadonlyMap<string, string>,
  files: string[],
  { databaseUrl }: Certitude,
  fault: (where: string, what: string) => void,
) {
  const missing = rows.filter(({ pem }) => pem !== null && !keys.has(keyHashOf(pem)));
  for (const { name } of missing) fault(name, "has a certificate whose key was found on no host, so that nothing is known of where it was");
  const search = createSearch(keys);
  const dump = Buffer.from(await runToEnd(["pg_dump", databaseUrl], { PATH: Bun.env.PATH ?? "" }));
  let bytes = 0;
  for (const [where, text] of [...files.map((file): [string, Buffer] => [file, readFileSync(file)]), ["the database", dump] as [string, Buffer]]) {
    bytes += text.length;
    for (const { of, at } of search(text)) fault(where, `holds the private key of the public key ${of}, at byte ${at}`);
    if (where.endsWith(".traffic") && !text.includes("BEGIN CERTIFICATE REQUEST")) fault(where, "holds no signing request: it is not what was said");
  }
  return bytes;
}

type Judged = { certitude: Certitude; authorities: Authorities; keys: ReadonlyMap<string, string>; files: string[] };

/** Judges what is left in the end. Returns counts, and what is wrong. */
export async function judge({ certitude, authorities, keys, files }: Judged) {
  const faults: Fault[] = [];
  const fault = (where: string, what: string) => void faults.push({ at: new Date(), where, what });
  const rows = await readRequests(certitude);
  judgeOrders(rows, authorities, fault);
  const searchedBytes = await judgeSecrecy(rows, keys, files, certitude, fault);
  const tally = authorities.tally();
  const issued = rows.filter(({ status }) => status === "issued");
  const failed = rows.filter(({ status }) => status === "failed");
  const counts = {
    requests: rows.length,
    renewals: issued.filter(({ replaces }) => replaces !== null).length,
    failedRequests: failed.length,
    retired: issued.filter(({ isRetired }) => isRetired).length,
    ordersAtCa: tally.orders,
    issuedByCa: tally.issued,
    issuedByOurs: issued.filter(({ issuerId }) => issuerId === authorities.issuerIds.internal).length,
    keys: keys.size,
    searchedMiB: Math.round(searchedBytes / 1024 / 1024),
  };
  return { counts, faults, reasons: failed.map(({ name, reason }) => `${name}: ${reason}`) };
}
