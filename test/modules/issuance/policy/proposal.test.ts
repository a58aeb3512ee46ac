import { describe, expect, test } from "bun:test";
import { tighten } from "#modules/issuance/issuing/rules/loosening";
import { DEFAULT_POLICY, type IssuancePolicy } from "#modules/issuance/issuing/rules/policy";
import { call } from "../../../support/server/call";
import { dispatch } from "../../../support/server/dispatching";
import { newOrganization } from "../../../support/server/people";

const POLICY = "/issuance-policy";
const STRICT = { allowedDomains: ["*.example.com"], allowedKeyLocations: ["agent"], needsApproval: true };

/** An organization whose policy asks for approvals, with two admins. */
async function withTwo() {
  const organization = await newOrganization();
  const [one, other] = [await organization.join(), await organization.join()];
  const as = (token: string) => (method: string, path: string, body?: object) =>
    call(method, `/organizations/${organization.id}${path}`, { token, headers: organization.headers("ORG_ADMIN"), ...(body && { body }) });
  await as(one.token)("PUT", POLICY, STRICT);
  const get = async () => (await organization.member("GET", POLICY)).body;
  const actions = async () =>
    (await organization.admin("GET", "/audit-events?limit=100")).body.items
      .map(({ action }: { action: string }) => action)
      .filter((each: string) => each.startsWith("issuance-policy."))
      .toReversed();
  return { organization, one, other, as, asOne: as(one.token), asOther: as(other.token), get, actions };
}
const decide = ({ id }: { id: string }, what: "approve" | "refuse") => `${POLICY}/proposals/${id}/${what}`;

describe("PUT /organizations/{organizationId}/issuance-policy where approvals are asked for", () => {
  test("202 for what allows more, which waits for another admin; what allows less counts at once", async () => {
    const { one, asOne, get, actions } = await withTwo();
    const next = { allowedDomains: ["a.example.com"], needsApproval: false };
    const answer = await asOne("PUT", POLICY, next);
    expect(answer).toMatchObject({
      status: 202,
      body: {
        allowedDomains: ["a.example.com"],
        allowedKeyLocations: ["agent"],
        needsApproval: true,
        version: 2,
        proposal: { ...next, allowedKeyLocations: null, proposedBy: { type: "user", id: one.id } },
      },
    });
    expect(await get()).toEqual(answer.body);
    expect((await asOne("PUT", POLICY, next)).body).toEqual(answer.body);
    expect(await actions()).toEqual(["issuance-policy.updated", "issuance-policy.updated", "issuance-policy.proposed"]);
  });

  test("200 for what allows less; and for the policy that is there, which takes a proposal back", async () => {
    const { asOne, get } = await withTwo();
    expect((await asOne("PUT", POLICY, { ...STRICT, allowedKeyAlgorithms: ["ecdsa-p256"] })).status).toBe(200);
    const { body } = await asOne("PUT", POLICY, STRICT);
    expect(body.proposal).toMatchObject({ allowedKeyAlgorithms: null });
    expect((await asOne("PUT", POLICY, { ...STRICT, allowedKeyAlgorithms: ["ecdsa-p256"] })).status).toBe(200);
    expect(await get()).not.toHaveProperty("proposal");
    expect((await asOne("POST", decide(body.proposal, "approve"))).status).toBe(404);
  });

  test("200 where no approval is asked for, whatever it allows", async () => {
    const organization = await newOrganization();
    await organization.admin("PUT", POLICY, { body: { allowedDomains: ["example.com"] } });
    expect((await organization.admin("PUT", POLICY, { body: {} })).body).toMatchObject({ allowedDomains: null, version: 2 });
  });
});

describe("POST …/issuance-policy/proposals/{proposalId}/approve", () => {
  test("403 for who proposed it, by tokens too, for headers alone and an ORG_MEMBER; 404 for another; 200 for another admin, and it counts", async () => {
    const { organization, as, asOne, asOther, get, actions } = await withTwo();
    const { token: first } = (await asOne("POST", "/api-tokens", { name: "ci", role: "ORG_ADMIN" })).body;
    const { token } = (await as(first)("POST", "/api-tokens", { name: "ci of ci", role: "ORG_ADMIN" })).body;
    const { proposal } = (await as(token)("PUT", POLICY, {})).body;
    const path = decide(proposal, "approve");
    expect(await asOne("POST", path)).toMatchObject({
      status: 403,
      body: { message: "Another admin than the author of the issuance policy decides on it." },
    });
    expect((await as(token)("POST", path)).status).toBe(403);
    expect((await organization.admin("POST", path)).status).toBe(403);
    expect((await organization.member("POST", path)).status).toBe(403);
    expect((await asOther("POST", decide({ id: crypto.randomUUID() }, "approve"))).status).toBe(404);
    expect((await asOther("POST", path)).body).toMatchObject({ ...DEFAULT_POLICY, version: 3 });
    expect(await get()).not.toHaveProperty("proposal");
    expect((await asOther("POST", path)).status).toBe(404);
    expect(await actions()).toEqual(["issuance-policy.updated", "issuance-policy.proposed", "issuance-policy.updated", "issuance-policy.approved"]);
  });

  test("404 for a proposal in whose place another one came, so that none approves what was not seen", async () => {
    const { asOne, asOther, get } = await withTwo();
    const seen = (await asOne("PUT", POLICY, { ...STRICT, allowedDomains: ["*.example.com", "example.com"] })).body.proposal;
    await asOne("PUT", POLICY, {});
    expect((await asOther("POST", decide(seen, "approve"))).status).toBe(404);
    expect(await get()).toMatchObject(STRICT);
  });

  test("200 of two users, where headers alone proposed it", async () => {
    const { organization, asOne, asOther } = await withTwo();
    const { proposal } = (await organization.admin("PUT", POLICY, { body: {} })).body;
    expect((await asOne("POST", decide(proposal, "approve"))).body).toMatchObject({ needsApproval: true, proposal: { id: proposal.id } });
    expect((await asOne("POST", decide(proposal, "approve"))).status).toBe(403);
    expect((await asOther("POST", decide(proposal, "approve"))).body.needsApproval).toBe(false);
  });

  test("200 for one of two at once", async () => {
    const { organization, as, asOne, asOther } = await withTwo();
    const third = as((await organization.join()).token);
    const { proposal } = (await asOne("PUT", POLICY, {})).body;
    const answers = await Promise.all([asOther("POST", decide(proposal, "approve")), third("POST", decide(proposal, "refuse"), { reason: "No." })]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404]);
  });
});

describe("POST …/issuance-policy/proposals/{proposalId}/refuse", () => {
  test("403 for who proposed it; 200 for another admin, and all stays as it was", async () => {
    const { organization, asOne, asOther, get } = await withTwo();
    const { proposal } = (await asOne("PUT", POLICY, {})).body;
    expect((await asOne("POST", decide(proposal, "refuse"), { reason: "No." })).status).toBe(403);
    expect((await asOther("POST", decide(proposal, "refuse"), {})).status).toBe(400);
    expect((await asOther("POST", decide(proposal, "refuse"), { reason: "Not now." })).body).toMatchObject(STRICT);
    expect(await get()).not.toHaveProperty("proposal");
    const { items } = (await organization.admin("GET", "/audit-events?action=issuance-policy.refused")).body;
    expect(items).toMatchObject([{ details: { proposalId: proposal.id, reason: "Not now." } }]);
  });
});

test("a proposal stands in the inbox of admins until it is decided on or taken back", async () => {
  const { organization, asOne, asOther } = await withTwo();
  const admin = await organization.join();
  const states = async () => {
    await dispatch();
    const { items } = (await admin.call("GET", "/users/me/notifications/inbox?limit=100")).body;
    return items.filter(({ kind }: { kind: string }) => kind === "issuance_policy_awaits_approval").map(({ state }: { state: string }) => state);
  };
  const { proposal } = (await asOne("PUT", POLICY, {})).body;
  expect(await states()).toEqual(["open"]);
  await asOther("POST", decide(proposal, "refuse"), { reason: "No." });
  expect(await states()).toEqual(["cleared"]);
  await asOne("PUT", POLICY, {});
  expect(await states()).toEqual(["open", "cleared"]);
  await asOne("PUT", POLICY, STRICT);
  expect(await states()).toEqual(["cleared", "cleared"]);
});

test.each<[Partial<IssuancePolicy>, Partial<IssuancePolicy>, boolean]>([
  [{ allowedDomains: ["*.example.org"] }, { allowedDomains: ["a.example.org", "*.b.example.org"] }, false],
  [{ allowedDomains: ["*.example.org"] }, { allowedDomains: ["example.org"] }, true],
  [{ allowedDomains: ["a.example.org"] }, { allowedDomains: ["*.a.example.org"] }, true],
  [{ allowedDomains: [] }, { allowedDomains: null }, true],
  [{ allowedDomains: null }, { allowedDomains: [] }, false],
  [{ allowedAddresses: ["10.0.0.0/8"] }, { allowedAddresses: ["10.1.2.3", "10.2.0.0/16"] }, false],
  [{ allowedAddresses: ["10.1.0.0/16"] }, { allowedAddresses: ["10.0.0.0/8"] }, true],
  [{ allowedAddresses: ["10.0.0.1"] }, { allowedAddresses: ["10.0.0.1/32"] }, false],
  [{ allowedAddresses: ["0.0.0.0/0"] }, { allowedAddresses: ["::/0"] }, true],
  [{ allowedAddresses: ["2001:db8::/32"] }, { allowedAddresses: ["2001:db8::/48"] }, false],
  [{ allowedKeyAlgorithms: ["ecdsa-p256"] }, { allowedKeyAlgorithms: ["ecdsa-p256", "rsa-2048"] }, true],
  [{ allowedKeyLocations: ["agent", "server"] }, { allowedKeyLocations: ["agent"] }, false],
  [{}, { needsApproval: false }, true],
])("a policy is loosened from %j to %j: %p", (current, next, waits) => {
  const asked = { ...DEFAULT_POLICY, needsApproval: true };
  expect(tighten({ ...asked, ...current }, { ...asked, ...next }).waits).toBe(waits);
  expect(tighten({ ...DEFAULT_POLICY, ...current }, { ...asked, ...next }).waits).toBe(false);
});
