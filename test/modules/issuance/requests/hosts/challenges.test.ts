import { describe, expect, test } from "bun:test";
import type { Proof } from "#modules/issuance/acme/rules/progress";
import { openAccountKey } from "#modules/issuance/acme/services/account-key";
import { createSolvers } from "#modules/issuance/acme/services/solvers";
import { newAccountKey } from "../../../../support/issuance/acme";
import { newAuthority, rootBody } from "../../../../support/pki/issuing";
import { newAgent } from "../../../../support/server/agents";
import { newOrganization } from "../../../../support/server/people";
import { world } from "../../../../support/server/world";
import { authority } from "../../issuers/issuers";
import { orderFor } from "./orders";

const { sql } = world;
const WEBROOT = { type: "http-01", webroot: "/var/www/html" };
const signal = new AbortController().signal;

async function newSetting() {
  const organization = await newOrganization();
  const agent = await newAgent(organization);
  const { deployment, ...requests } = await orderFor({ ...agent, organization }, "/etc/ssl/example");
  const config = { directoryUrl: "https://ca.certitude.example/directory", termsOfServiceAgreed: true };
  const { body: issuer } = await organization.admin("POST", "/issuers", { body: { kind: "acme", name: "A CA", config } });
  const order = (proof: object, issuerId = issuer.id) =>
    organization.admin("POST", "/certificate-requests", {
      body: { issuerId, names: ["www.certitude.example"], key: { location: "agent" }, deployment: { ...deployment, proof } },
    });
  const state = async () => (await agent.call("GET", "/agent/assignments")).body;
  return { organization, agent, requests, order, state };
}

/** A request with a challenge that a CA has given to it. */
async function newChallenge() {
  const setting = await newSetting();
  const { body: request } = await setting.order(WEBROOT);
  const accountKeyPem = newAccountKey();
  const solver = createSolvers(world.deps)(
    { type: "http-01", by: "host" },
    { accountKeyPem },
    { organizationId: setting.organization.id, requestId: request.id },
  );
  const token = crypto.randomUUID();
  const proof: Proof = {
    name: "www.certitude.example",
    type: "http-01",
    challenge: "host",
    challengeUrl: "https://ca.certitude.example/1",
    token,
    thumbprint: "of another account",
    state: "planned",
  };
  await solver.present(proof, signal);
  const [challenge] = (await setting.state()).challenges;
  const report = (state: string, message?: string, by = setting.agent) =>
    by.call("POST", `/agent/certificate-requests/${request.id}/challenges`, {
      body: { challenges: [{ id: challenge.id, state, ...(message && { message }) }] },
    });
  const { thumbprint } = await openAccountKey(accountKeyPem);
  return {
    ...setting,
    request,
    challenge,
    report,
    token,
    thumbprint,
    present: () => solver.present(proof, signal),
    look: () => solver.isVisible(proof, signal),
    remove: () => solver.remove(proof, signal),
  };
}

describe("POST /organizations/{organizationId}/certificate-requests with a proof by the host", () => {
  test.each<[string, object, string]>([
    ["a path that is not absolute", { type: "http-01", webroot: "www" }, "body.deployment.proof.webroot must be an absolute path, written the direct way."],
    ["a way around", { type: "http-01", webroot: "/var/www/../../etc" }, "body.deployment.proof.webroot must be an absolute path, written the direct way."],
    ["a webroot for TLS", { type: "tls-alpn-01", webroot: "/var/www" }, "body.deployment.proof.webroot belongs to http-01."],
    ["a webroot and a port", { ...WEBROOT, port: 80 }, "body.deployment.proof must have either a webroot or where the agent listens, not both."],
    ["no address", { type: "http-01", address: "localhost" }, "body.deployment.proof.address must be an IP address."],
  ])("400 for %s", async (_, proof, message) => {
    const { order } = await newSetting();
    expect(await order(proof)).toMatchObject({ status: 400, body: { message } });
  });

  test("400 for an issuer that asks for no proof; 202 for one that does, and says so again", async () => {
    const { organization, order } = await newSetting();
    const { id: authorityId } = await newAuthority(organization, rootBody);
    const { body: internal } = await organization.admin("POST", "/issuers", { body: authority({ config: { authorityId } }) });
    expect(await order(WEBROOT, internal.id)).toMatchObject({
      status: 400,
      body: { message: "body.deployment.proof belongs to issuers of the kind acme: this one asks for no proof." },
    });
    expect(await order(WEBROOT)).toMatchObject({ status: 202, body: { deployment: { proof: WEBROOT } } });
  });
});

describe("a challenge for a host", () => {
  test("is in its desired state, for the issuer's own account alone, until it is taken away", async () => {
    const { request, challenge, token, thumbprint, state, present, remove } = await newChallenge();
    expect(challenge).toEqual({ id: challenge.id, requestId: request.id, name: "www.certitude.example", token, thumbprint, isShown: false, proof: WEBROOT });
    await present();
    expect((await state()).challenges).toEqual([challenge]);
    await remove();
    expect(await state()).toMatchObject({ keys: [{ requestId: request.id }], challenges: [] });
  });

  test("is not sent once its row, or its request's, says something else than a server had it say", async () => {
    const { request, challenge, state } = await newChallenge();
    await sql`update host_challenges set thumbprint = 'of another account' where id = ${challenge.id}`;
    expect(await state()).toMatchObject({ keys: [{ requestId: request.id }], challenges: [] });
    await sql`update host_challenges set thumbprint = ${challenge.thumbprint} where id = ${challenge.id}`;
    expect((await state()).challenges).toEqual([challenge]);
    await sql`update certificate_requests set deployment = jsonb_set(deployment, '{proof,webroot}', '"/etc"') where id = ${request.id}`;
    expect(await state()).toMatchObject({ keys: [], challenges: [] });
  });
});

describe("POST /agent/certificate-requests/{requestId}/challenges", () => {
  test("404 for another agent, and for what is over", async () => {
    const { organization, report, requests, request } = await newChallenge();
    expect((await report("shown", undefined, await newAgent(organization, { name: "other" }))).status).toBe(404);
    await requests.cancel(request.id);
    expect((await report("shown")).status).toBe(404);
  });

  test("204 and an event, once; why it is not shown is reported, and the request goes on at once when it is", async () => {
    const { organization, agent, report, request, challenge, state, look } = await newChallenge();
    await sql`update certificate_requests set due_at = now() + interval '1 hour' where id = ${request.id}`;
    const isDue = async () => (await sql`select from certificate_requests where id = ${request.id} and due_at <= now()`).length > 0;
    expect(await look()).toMatchObject({ visible: false, reason: "The agent has not shown it yet; an agent of an older release never does." });
    for (let turn = 0; turn < 2; turn++) expect((await report("failed", "The disk is full.")).status).toBe(204);
    expect(await look()).toMatchObject({ visible: false, reason: "The agent cannot show it: The disk is full." });
    expect(await isDue()).toBe(true);
    for (let turn = 0; turn < 2; turn++) expect((await report("shown")).status).toBe(204);
    expect(await look()).toEqual({ visible: true });
    expect((await state()).challenges).toEqual([{ ...challenge, isShown: true }]);
    const { items } = (await organization.admin("GET", "/audit-events?action=certificate-request.challenges-reported")).body;
    expect(items.map(({ actor, details }: { actor: object; details: object }) => ({ actor, details }))).toEqual([
      {
        actor: expect.objectContaining({ type: "agent", id: agent.id }),
        details: { agentId: agent.id, challenges: [{ name: "www.certitude.example", state: "shown" }] },
      },
      {
        actor: expect.objectContaining({ type: "agent", id: agent.id }),
        details: {
          agentId: agent.id,
          challenges: [{ name: "www.certitude.example", state: "failed", reason: "The agent cannot show it: The disk is full." }],
        },
      },
    ]);
  });

  test("what is to be shown for an agent that was deleted fails in words", async () => {
    const { organization, agent, look } = await newChallenge();
    await organization.admin("DELETE", `/agents/${agent.id}`);
    await expect(look()).rejects.toThrow("The agent that was to prove control of the names was deleted meanwhile.");
  });
});
