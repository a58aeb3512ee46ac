import type { Sql } from "#db/connect";
import type { Resource } from "#db/outcome";
import type { Deps } from "#deps";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import type { Scope } from "#modules/people/audit/queries";
import { parseCertificate } from "#x509/facts";
import { type AuthorityRow, findStored, insertAuthority, type StoredAuthority } from "../queries/authorities";
import { keepIssued, storeCertificate } from "../queries/issued";
import type { Profile } from "../rules/profiles";
import { readTerms, shapeFault } from "../rules/shape";
import type { NewAuthority, NewIssuing } from "../schema";
import { beginAt, issueAuthority, keyIdOf, nameOf, newSerialNumber } from "./certificates";
import { type Draft, type Plan, rowOf } from "./draft";
import { importAuthority } from "./import";
import { publicKeyOf } from "./keys";
import { requestFromElsewhere } from "./request";
import { chainBelow, issuingFault, openSigner, urlsOf } from "./signer";

type Refusal = { invalid: string } | { missing: string };
type Outcome = (Resource & { id: string }) | Refusal;
type Makes = IssuingDeps & Pick<Deps, "keyMaker">;

const DAY_MS = 86_400_000;
const LIFETIME_DAYS = { root: 3_650, issuing: 1_825 };

/**
 * The circumstances of a new authority: `at` is the address of this server, for what names no other; `signal` ends once the
 * caller has gone.
 */

/** Keys are made last, and before the transaction: they take their time, and what is refused needs none. */
export async function createAuthority(deps: Makes, scope: Scope, body: NewAuthority, { at, signal }: { at: string; signal: AbortSignal }): Promise<Outcome> {
  const invalid = shapeFault(body);
  if (invalid) return { invalid };
  const publicUrl = (body.publicUrl ?? deps.config.publicUrl ?? at).replace(/\/$/, "");
  const terms = readTerms("body", body, body.issuing && []);
  if ("invalid" in terms) return terms;
  if (body.kind === "imported") return importAuthority(deps, scope, { ...body, ...terms, publicUrl });
  const plan = readPlan("body", body, publicUrl, body.issuing && []);
  if ("invalid" in plan) return plan;
  const withKey = (each: Plan) => makeDraft(deps, scope, each, signal);
  if (body.kind === "requested") return requestFromElsewhere(deps, scope, await withKey(plan));
  if (body.kind === "root") return createRoot(deps, scope, plan, body.issuing && readPlan("body.issuing", body.issuing, publicUrl), withKey);
  const parentId = body.parentId ?? "";
  const judged = judgeBelow(deps, await findStored(deps.sql, scope.organizationId, parentId), plan);
  if (!("above" in judged)) return judged;
  const draft = await withKey(plan);
  return deps.sql.begin((tx) => createBelow(deps, tx, scope, parentId, draft));
}

/** The authority that is asked for, or what is wrong with it. */
function readPlan(at: string, given: NewIssuing, publicUrl: string, defaults?: Profile[]): Plan | { invalid: string } {
  const terms = readTerms(at, given, defaults);
  if ("invalid" in terms) return terms;
  const { name, subject = { commonName: "" }, keyAlgorithm: algorithm = "ecdsa-p256", lifetimeDays, pathLength } = given;
  const id = Bun.randomUUIDv7(); // before the key, which takes its time: ids show what is newer
  return { id, name, algorithm, subject: nameOf(subject), lifetimeDays, pathLength, publicUrl, ...terms };
}

async function makeDraft({ keyMaker }: Makes, { organizationId }: Scope, plan: Plan, signal: AbortSignal): Promise<Draft> {
  const key = await keyMaker.make(organizationId, plan.algorithm, { signal });
  return { ...plan, key, publicKey: publicKeyOf(key) };
}

type WithKey = (plan: Plan) => Promise<Draft>;

async function createRoot(deps: IssuingDeps, scope: Scope, plan: Plan, below: Plan | { invalid: string } | undefined, withKey: WithKey): Promise<Outcome> {
  const notBefore = beginAt(deps.clock());
  const notAfter = daysAfter(notBefore, plan.lifetimeDays ?? LIFETIME_DAYS.root);
  const pathLength = plan.pathLength ?? null;
  if (below && "invalid" in below) return below;
  if (below && pathLength === 0) return { invalid: "body.pathLength 0 leaves no place for body.issuing." };
  const judged = below && judgeTerms({ pathLength, notAfter }, below, deps.clock(), "body.issuing");
  if (judged && "invalid" in judged) return judged;
  const draft = await withKey(plan);
  const draftBelow = below && (await withKey(below)); // one after the other: an organization has one lane
  const signer = { key: draft.key, subject: draft.subject, keyId: keyIdOf(draft.publicKey), urls: urlsOf(draft) };
  const der = await issueAuthority(signer, { ...draft, pathLength, notBefore, notAfter, serialNumber: newSerialNumber() });
  return deps.sql
    .begin(async (tx) => {
      const root = await keepAuthority(deps, tx, scope, draft, { der, above: undefined });
      if (!draftBelow) return root;
      const issuing = await createBelow(deps, tx, scope, draft.id, draftBelow, "body.issuing");
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
  constructor(readonly outcome: Refusal) {
    super("refused");
  }
}

type Below = { pathLength: number; notBefore: Date; notAfter: Date };

/** Returns the issuing CA that is to be below this authority, or why there is none. `at` is its place in the body. */
function judgeBelow(deps: IssuingDeps, above: StoredAuthority | undefined, plan: Plan, at = "body"): (Below & { above: StoredAuthority }) | Refusal {
  if (!above) return { missing: "There is no such authority in this organization: body.parentId." };
  const fault = issuingFault(deps, above);
  if (fault || !above.notAfter) return { invalid: `body.parentId: ${fault}` };
  const terms = judgeTerms({ pathLength: above.pathLength, notAfter: above.notAfter }, plan, deps.clock(), at);
  return "invalid" in terms ? terms : { ...terms, above };
}

function judgeTerms(above: { pathLength: number | null; notAfter: Date }, plan: Plan, now: Date, at: string): Below | { invalid: string } {
  const pathLength = plan.pathLength ?? 0;
  if (above.pathLength !== null && pathLength >= above.pathLength)
    return { invalid: `${at}.pathLength must be less than that of the authority above it, which is ${above.pathLength}.` };
  const notBefore = beginAt(now);
  const asked = plan.lifetimeDays === undefined ? undefined : daysAfter(notBefore, plan.lifetimeDays);
  if (asked && asked > above.notAfter)
    return { invalid: `${at}.lifetimeDays is longer than the authority above it lives: it ends at ${above.notAfter.toISOString()}.` };
  return { pathLength, notBefore, notAfter: asked ?? new Date(Math.min(daysAfter(notBefore, LIFETIME_DAYS.issuing).getTime(), above.notAfter.getTime())) };
}

/** An issuing CA below an authority of the organization, which signs it. */
async function createBelow(deps: IssuingDeps, tx: Sql, scope: Scope, parentId: string, draft: Draft, at = "body"): Promise<Outcome> {
  const judged = judgeBelow(deps, await findStored(tx, scope.organizationId, parentId, "share"), draft, at);
  if (!("above" in judged)) return judged;
  const { above, ...terms } = judged;
  const der = await issueAuthority(openSigner(deps.config.keyring, above), { ...draft, ...terms, serialNumber: newSerialNumber() });
  return keepAuthority(deps, tx, scope, draft, { der, above });
}

const daysAfter = (from: Date, days: number) => new Date(from.getTime() + days * DAY_MS);

type Made = { der: Uint8Array; above: StoredAuthority | undefined };

/** Stores an authority with its certificate, and notes that the one above it has issued that. */
async function keepAuthority({ config, stamps, clock }: IssuingDeps, tx: Sql, scope: Scope, draft: Draft, { der, above }: Made) {
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
