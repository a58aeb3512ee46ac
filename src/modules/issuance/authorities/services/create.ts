import type { Sql } from "#db/connect";
import type { Resource } from "#db/outcome";
import { parseCertificate } from "#modules/certificates/certificates/x509/facts";
import type { Scope } from "#modules/people/audit/queries";
import { type AuthorityRow, findStored, insertAuthority, type StoredAuthority } from "../queries/authorities";
import { keepIssued, storeCertificate } from "../queries/issued";
import type { Profile } from "../rules/profiles";
import { readTerms, shapeFault } from "../rules/shape";
import type { NewAuthority, NewIssuing } from "../schema";
import { beginAt, issueAuthority, keyIdOf, nameOf, newSerialNumber } from "./certificates";
import { type Draft, type Needs, rowOf } from "./draft";
import { importAuthority } from "./import";
import { makeKey, publicKeyOf } from "./keys";
import { requestFromElsewhere } from "./request";
import { chainBelow, issuingFault, openSigner, urlsOf } from "./signer";

type Outcome = (Resource & { id: string }) | { invalid: string } | { missing: string };

const DAY_MS = 86_400_000;
const LIFETIME_DAYS = { root: 3_650, issuing: 1_825 };

/** `at` is the address of this server, for what names no other. Keys are made before the transaction. */
export async function createAuthority(deps: Needs, scope: Scope, body: NewAuthority, at: string): Promise<Outcome> {
  const invalid = shapeFault(body);
  if (invalid) return { invalid };
  const publicUrl = (body.publicUrl ?? deps.config.publicUrl ?? at).replace(/\/$/, "");
  const terms = readTerms("body", body, body.issuing && []);
  if ("invalid" in terms) return terms;
  if (body.kind === "imported") return importAuthority(deps, scope, { ...body, ...terms, publicUrl });
  const [draft, below] = await Promise.all([
    readDraft("body", body, publicUrl, body.issuing && []),
    body.issuing && readDraft("body.issuing", body.issuing, publicUrl),
  ]);
  if ("invalid" in draft) return draft;
  if (body.kind === "requested") return requestFromElsewhere(deps, scope, draft);
  if (body.kind === "issuing") return deps.sql.begin((tx) => createBelow(deps, tx, scope, body.parentId ?? "", draft));
  if (below && "invalid" in below) return below;
  return createRoot(deps, scope, draft, below);
}

/** With its key; or what is wrong with it. */
async function readDraft(at: string, given: NewIssuing, publicUrl: string, defaults?: Profile[]): Promise<Draft | { invalid: string }> {
  const terms = readTerms(at, given, defaults);
  if ("invalid" in terms) return terms;
  const { name, subject = { commonName: "" }, keyAlgorithm: algorithm = "ecdsa-p256", lifetimeDays, pathLength } = given;
  const id = Bun.randomUUIDv7(); // before the key, which takes its time: ids tell what is newer
  const key = await makeKey(algorithm);
  return { id, name, key, algorithm, publicKey: publicKeyOf(key), subject: nameOf(subject), lifetimeDays, pathLength, publicUrl, ...terms };
}

async function createRoot(deps: Needs, scope: Scope, draft: Draft, below: Draft | undefined): Promise<Outcome> {
  const now = deps.clock();
  if (below && draft.pathLength === 0) return { invalid: "body.pathLength 0 leaves no place for body.issuing." };
  const notBefore = beginAt(now);
  const notAfter = daysAfter(notBefore, draft.lifetimeDays ?? LIFETIME_DAYS.root);
  const signer = { key: draft.key, subject: draft.subject, keyId: keyIdOf(draft.publicKey), urls: urlsOf(draft) };
  const pathLength = draft.pathLength ?? null;
  const der = await issueAuthority(signer, { ...draft, pathLength, notBefore, notAfter, serialNumber: newSerialNumber() });
  return deps.sql
    .begin(async (tx) => {
      const root = await keepAuthority(deps, tx, scope, draft, { der, above: undefined });
      if (!below) return root;
      const issuing = await createBelow(deps, tx, scope, draft.id, below, "body.issuing");
      if (!("json" in issuing)) throw new Refused(issuing); // and the root goes with it
      return { ...root, json: `${root.json.slice(0, -1)}, "issuing": ${issuing.json}}` };
    })
    .catch((error) => {
      if (error instanceof Refused) return error.outcome;
      throw error;
    });
}

/** Ends a transaction whose outcome is a refusal. */
class Refused extends Error {
  constructor(readonly outcome: { invalid: string } | { missing: string }) {
    super("refused");
  }
}

/** An issuing CA below an authority of the organization, which signs it. `at` is where it stands in the body. */
async function createBelow(deps: Needs, tx: Sql, scope: Scope, parentId: string, draft: Draft, at = "body"): Promise<Outcome> {
  const now = deps.clock();
  const above = await findStored(tx, scope.organizationId, parentId, "share");
  if (!above) return { missing: "There is no such authority in this organization: body.parentId." };
  const fault = issuingFault(deps, above);
  if (fault || !above.notAfter) return { invalid: `body.parentId: ${fault}` };
  const pathLength = draft.pathLength ?? 0;
  if (above.pathLength !== null && pathLength >= above.pathLength)
    return { invalid: `${at}.pathLength must be less than that of the authority above it, which is ${above.pathLength}.` };
  const notBefore = beginAt(now);
  const asked = draft.lifetimeDays === undefined ? undefined : daysAfter(notBefore, draft.lifetimeDays);
  if (asked && asked > above.notAfter)
    return { invalid: `${at}.lifetimeDays is longer than the authority above it lives: it ends at ${above.notAfter.toISOString()}.` };
  const notAfter = asked ?? new Date(Math.min(daysAfter(notBefore, LIFETIME_DAYS.issuing).getTime(), above.notAfter.getTime()));
  const serialNumber = newSerialNumber();
  const der = await issueAuthority(openSigner(deps.config.keyring, above), { ...draft, pathLength, notBefore, notAfter, serialNumber });
  return keepAuthority(deps, tx, scope, draft, { der, above });
}

const daysAfter = (from: Date, days: number) => new Date(from.getTime() + days * DAY_MS);

type Made = { der: Uint8Array; above: StoredAuthority | undefined };

/** Stores an authority with its certificate, and notes that the one above it has issued that. */
async function keepAuthority({ config, stamps, clock }: Needs, tx: Sql, scope: Scope, draft: Draft, { der, above }: Made) {
  const { organizationId } = scope;
  const parsed = parseCertificate(der);
  const certificateId = await storeCertificate(tx, stamps, scope, parsed, above?.certificateId ?? undefined);
  if (above) {
    const { notAfter, facts } = parsed;
    const details = { subject: parsed.subject, authority: draft.id };
    await keepIssued(tx, scope, { authorityId: above.id, serialNumber: facts.serialNumber, certificateId, requestId: null, notAfter, details });
  }
  const row: AuthorityRow = {
    ...rowOf(config.keyring, organizationId, draft),
    kind: above ? "issuing" : "root",
    parentId: above?.id ?? null,
    requestPem: null,
    certificateId,
    chainPem: above ? chainBelow(above) : "",
    subject: parsed.subject,
    pathLength: parsed.facts.pathLength,
    constraints: [...(draft.constraints ? [draft.constraints] : []), ...(above?.constraints ?? [])],
    notBefore: parsed.notBefore,
    notAfter: parsed.notAfter,
  };
  return insertAuthority(tx, stamps, scope, row, clock());
}
