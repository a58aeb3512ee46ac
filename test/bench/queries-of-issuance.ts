import { randomBytes } from "node:crypto";
import { createKeyring } from "#crypto/keyring";
import { createStamps } from "#crypto/stamps";
import type { Pool } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import { findAnswer, keepAnswer } from "#modules/issuance/acme/queries/answers";
import { beginOrder, findUnclaimed } from "#modules/issuance/acme/queries/orders";
import { findDependents, findStored, listAuthorities } from "#modules/issuance/authorities/queries/authorities";
import { findIssued } from "#modules/issuance/authorities/queries/issued";
import { findStanding } from "#modules/issuance/domains/queries";
import { deleteIssuer, listIssuers } from "#modules/issuance/issuers/queries/issuers";
import { findPublication, findStatuses, listDue, listRevoked, saveAnswers, takeDueAnswers } from "#modules/issuance/pki/queries";
import { listRenewals, type Filter as RenewalFilter } from "#modules/issuance/renewals/queries/list";
import { requestSuccessors } from "#modules/issuance/renewals/queries/order";
import { findIssuerOf, lockRenewable } from "#modules/issuance/renewals/queries/renew";
import { endDeleted, findDueIssuer, findIssuerStanding, saveDecisions, takeDue } from "#modules/issuance/renewals/queries/review";
import { claimIssued, saveRotated } from "#modules/issuance/renewals/queries/rotate";
import { claimWindows, saveWindow } from "#modules/issuance/renewals/queries/windows";
import { decide } from "#modules/issuance/renewals/rules/next";
import { claimRequests } from "#modules/issuance/requests/queries/claims";
import { cancelRequest } from "#modules/issuance/requests/queries/end";
import { noteKeyFault } from "#modules/issuance/requests/queries/faults";
import { findOpen, findRequest, listRequests } from "#modules/issuance/requests/queries/requests";
import { saveCleaned, saveIssued, saveKey, saveTransition } from "#modules/issuance/requests/queries/save";
import type { Room } from "#modules/platform/jobs/rules";
import type { Query } from "./queries";

const ROOM: Room = { fullOrganizations: [], fullTargets: [], of: () => 8 };
const stamps = createStamps(createKeyring([randomBytes(32)]));

const AT_ONCE = 150;
const DAY_MS = 86_400_000;

/** Every query of issuance that meets tables which grow, for the largest organization; a day from now, when 10,000 renewals are due. */
export async function issuanceQueries(sql: Pool): Promise<Query[]> {
  const [organization] = await sql<{ id: string }[]>`select organization_id as id from certificates group by 1 order by count(*) desc limit 1`;
  const organizationId = organization?.id ?? "";
  const issuers = await sql<{ id: string }[]>`select id from issuers where organization_id = ${organizationId} order by id`;
  const [issuerId, resting] = [issuers[0]?.id ?? "", issuers.at(-1)?.id ?? ""];
  const sampleOf = async (where: ReturnType<Pool>) =>
    (
      await sql<
        { id: string }[]
      >`select id from certificate_requests where organization_id = ${organizationId} and issuer_id = ${issuerId} and ${where} limit 1`
    )[0]?.id ?? "";
  const [open, issued] = [await sampleOf(sql`ended_at is null`), await sampleOf(sql`status = 'issued'`)];
  const now = new Date(Date.now() + DAY_MS);
  const of = { organizationId, issuerId };
  const named = { name: "www.example.org", domain: "example.org" };
  const scope = { organizationId, actor: { type: "server" as const }, requestId: null };
  const target = { id: open, versions: undefined };
  const position = { limit: 20, after: undefined };
  const middle = { limit: 20, after: [now.toISOString(), MAX_UUID] as const };
  const renewals = (filter: RenewalFilter): Query[] => [
    [`renewals ${JSON.stringify(filter)}`, (tx) => listRenewals(tx, organizationId, filter, position)],
    [`renewals ${JSON.stringify(filter)}, later`, (tx) => listRenewals(tx, organizationId, filter, middle)],
  ];
  const requests = (filter: Parameters<typeof listRequests>[2]): Query => [
    `requests ${JSON.stringify(filter)}`,
    (tx) => listRequests(tx, organizationId, filter, { limit: 20, before: undefined }),
  ];
  const claim = async (tx: Pool) => {
    await tx`update issuers set due_at = now() - interval '1 minute' where organization_id = ${organizationId} and id = ${issuerId}`;
    await tx`update certificate_requests set due_at = now() - interval '1 minute' where organization_id = ${organizationId} and id = ${open}`;
    const [claimed] = (await claimRequests(tx, ROOM, { isOwn: false })) ?? [];
    if (!claimed) throw new Error("no request was due");
    return claimed;
  };
  const serial = issued.replaceAll("-", "");
  return [
    ["choose: which issuer is due", (tx) => findDueIssuer(tx, [], now)],
    ["choose: which issuer is due, but for one", (tx) => findDueIssuer(tx, [issuerId], now)],
    ["choose: which issuer is due, where none is", (tx) => findDueIssuer(tx, [], new Date(0))],
    [`choose: ${AT_ONCE} of an issuer`, (tx) => takeDue(tx, of, AT_ONCE, now)],
    [`choose: ${AT_ONCE} of one that rests`, (tx) => takeDue(tx, { organizationId, issuerId: resting }, AT_ONCE, now)],
    ["choose: how an issuer fares", (tx) => findIssuerStanding(tx, of)],
    [`order ${AT_ONCE} successors, and keep what was decided`, (tx) => requestSome(tx, organizationId, issuerId, now)],
    [
      "end renewals of a deleted issuer",
      async (tx) => {
        await tx`insert into renewal_ends values (${organizationId}, ${resting})`;
        await endDeleted(tx, AT_ONCE);
      },
    ],
    ["claim what was issued", (tx) => claimIssued(tx, 20, now)],
    ["claim windows", (tx) => claimWindows(tx, ROOM, 40, now)],
    [
      "keep a window",
      (tx) =>
        saveWindow(tx, { organizationId, certificateId: issued, issuerId, pem: "" }, { start: now, end: now, explanationUrl: undefined, askAgainAt: now }),
    ],
    ["note that a certificate was renewed", async (tx) => saveRotated(tx, (await claimIssued(tx, 1, now))[0] as never)],
    ["renew now: its issuer", (tx) => findIssuerOf(tx, organizationId, issued)],
    ["renew now: what is known of it", (tx) => lockRenewable(tx, organizationId, issued)],
    ...renewals({}),
    ...(["scheduled", "failed", "issued", "renewed", "ended"] as const).flatMap((state) => renewals({ state })),
    ...renewals({ late: true }),
    ...renewals({ issuerId }),
    ...renewals({ dueBefore: now.toISOString() }),
    ...renewals({ issuerId, state: "failed" }),
    ...renewals({ issuerId, state: "renewed" }),
    ...renewals({ issuerId, late: true }),
    ...renewals({ issuerId: MAX_UUID }),
    ...renewals({ late: true, state: "failed" }),
    ...renewals({ late: true, state: "scheduled" }),
    requests({}),
    ...["pending", "issuing", "issued", "failed", "cancelled"].map((status) => requests({ status })),
    requests({ issuerId }),
    requests({ issuerId, status: "pending" }),
    requests({ issuerId, status: "issued" }),
    requests({ name: `${issued}.example.org` }),
    requests({ name: "shared.example.org" }),
    requests({ name: "unknown.example.org" }),
    requests({ name: "shared.example.org", status: "failed" }),
    requests({ name: "shared.example.org", issuerId, status: "issued" }),
    ["a request with its steps", (tx) => findRequest(tx, organizationId, issued)],
    [
      "the open request for the same names",
      (tx) => findOpen(tx, organizationId, { issuerId, names: [{ type: "dns", value: "new.example.org" }], agentId: null }),
    ],
    ["claim requests", claim],
    ["claim requests, where none is due", (tx) => claimRequests(tx, ROOM, { isOwn: false })],
    ["keep a key", async (tx) => saveKey(tx, await claim(tx), { csr: new Uint8Array(300), sealedPrivateKey: Buffer.alloc(300), stamp: Buffer.alloc(40) })],
    [
      "keep a step",
      async (tx) => saveTransition(tx, await claim(tx), { status: "validating", reason: null, progress: { stage: "ordering" }, waitMs: 0, isFailure: false }),
    ],
    [
      "keep a failure, of the issuer",
      async (tx) => saveTransition(tx, await claim(tx), { status: "pending", reason: "It is away.", waitMs: 9, restMs: 9, isFailure: true }),
    ],
    ["end a request with its certificate", async (tx) => saveIssued(tx, await claim(tx), { id: issued, notAfter: now }, undefined)],
    ["note that a request has left nothing", async (tx) => saveCleaned(tx, await claim(tx))],
    ["cancel a request", (tx) => cancelRequest(tx, scope, target)],
    ["note a host's fault", (tx) => noteKeyFault(tx, scope, { agentId: MAX_UUID, requestId: open, state: "failed", message: "" })],
    ["ACME: note that an order is about to be made", (tx) => beginOrder(tx, { ...of, requestId: open })],
    ["ACME: which orders no request has", (tx) => findUnclaimed(tx, { ...of, requestId: open }, ["https://ca.example/1", "https://ca.example/2"])],
    [
      "ACME: keep an answer",
      (tx) => keepAnswer(tx, stamps, { organizationId, requestId: open, token: "one", keyAuthorization: "one.two", ...named, expiresAt: now }),
    ],
    ["ACME: answer", (tx) => findAnswer(tx, stamps, "one", [named.name])],
    ["which organization has a domain", (tx) => findStanding(tx, organizationId, named.domain)],
    ["issuers", (tx) => listIssuers(tx, organizationId, { limit: 20, before: undefined }, undefined)],
    ["delete an issuer: is a request open?", (tx) => deleteIssuer(tx, scope, { id: issuerId, versions: undefined })],
    ["authorities", (tx) => listAuthorities(tx, organizationId, { limit: 20, before: undefined }, now)],
    ["authority", (tx) => findStored(tx, organizationId, issuerId)],
    ["authority: what needs it", (tx) => findDependents(tx, organizationId, issuerId, now)],
    ["authority: what was issued for an order", (tx) => findIssued(tx, organizationId, issued)],
    ["publish: which authorities are due", (tx) => listDue(tx, now, 100)],
    ["publish: what an authority publishes", (tx) => findPublication(tx, issuerId)],
    ["publish: what was revoked (all of it is in the CRL)", (tx) => listRevoked(tx, { organizationId, authorityId: issuerId } as never, now)],
    ["publish: OCSP, by serial number", (tx) => findStatuses(tx, issuerId, [serial, "00"])],
    ["publish: OCSP, answers that are due", (tx) => takeDueAnswers(tx, now, 200)],
    [
      "publish: OCSP, keep answers",
      async (tx) =>
        saveAnswers(
          tx,
          (await takeDueAnswers(tx, now, 200)).map((each) => ({ ...each, der: new Uint8Array(300), dueAt: now })),
        ),
    ],
  ];
}

async function requestSome(tx: Pool, organizationId: string, issuerId: string, now: Date) {
  const due = await takeDue(tx, { organizationId, issuerId }, AT_ONCE, now);
  const decided = due.map((row) => ({ row, next: decide(row, null, now, 0) }));
  const ids = due.map(({ certificateId }) => certificateId);
  await requestSuccessors(tx, undefined as never, { organizationId, actor: { type: "server" }, requestId: null }, issuerId, ids);
  await saveDecisions(tx, organizationId, decided, now);
}
