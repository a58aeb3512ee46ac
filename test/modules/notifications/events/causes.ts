import { JOBS } from "#jobs/table";
import { readMarkers, writeMarker } from "#maintenance/stamping-markers";
import { revoking } from "#modules/issuance/revocations/services/revoke";
import type { NoticeKind } from "#modules/notifications/events/rules/kinds";
import { addAdmin } from "#modules/people/members/queries/members";
import { noteUnproven } from "#modules/people/roles/queries";
import { certificate, importInto } from "../../../support/pki/certificates";
import { anAssignment, importRoot, newAgent } from "../../../support/server/agents";
import type { Wish } from "../../../support/server/call";
import { call } from "../../../support/server/call";
import { connect, tryOut } from "../../../support/server/connections";
import { dispatch } from "../../../support/server/dispatching";
import { aRollout, deactivateOtherRollouts, desired, obey, report, runRolloutJob } from "../../../support/server/fleet";
import { newStaff, settled, upload } from "../../../support/server/knowledge";
import { newOrganization, newUser } from "../../../support/server/people";
import { runShared } from "../../../support/server/shared-jobs";
import { startTarget } from "../../../support/server/target";
import { startServer, world } from "../../../support/server/world";
import { control } from "../../governance/frameworks/controls";
import { acme } from "../../issuance/issuers/issuers";
import { renew } from "../../issuance/renewals/renewals";
import { conduct, DRIVERS, issued, work } from "../../issuance/requests/requests";

const DAY = 86_400_000;
const after = (days: number) => new Date(Date.now() + days * DAY);
const dateAfter = (days: number) => after(days).toISOString().slice(0, 10);

/** One turn of a job, so many days from now. */
export async function runJob(name: string, days = 0) {
  const job = JOBS.find((each) => each.name === name);
  if (!job || !("run" in job)) throw new Error(`there is no repeated job ${name}`);
  await job.run({ ...world.deps, clock: () => after(days) }, new AbortController().signal);
}

/** An organization of two seats, both admins': one does what has events. */
export async function newSetting() {
  const organization = await newOrganization();
  const [author, other] = [await newStaff(), await organization.join()];
  await addAdmin(world.sql, world.deps.stamps, organization.scope, { userId: author.id, email: author.email });
  const ask = async (method: string, path: string, wish: Wish = {}) => {
    const answer = await author.call(method, `/organizations/${organization.id}${path}`, {
      ...wish,
      headers: { ...organization.headers("ORG_ADMIN"), ...wish.headers },
    });
    if (answer.status >= 300) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
    return answer.body;
  };
  return { organization, author, other, ask };
}
type Setting = Awaited<ReturnType<typeof newSetting>>;

/** Makes it happen; returns what ends it, where it is a state. */
type Cause = (setting: Setting) => Promise<(() => Promise<unknown>) | undefined>;

const once =
  (cause: (setting: Setting) => Promise<unknown>): Cause =>
  async (setting) =>
    void (await cause(setting));

async function withReport(setting: Setting, state: "failed" | "refused" | "drifted") {
  const agent = await newAgent(setting.organization, { name: "web-1" });
  const certificateId = await importRoot(setting.organization);
  const { id } = await setting.ask("POST", agent.assignments, { body: anAssignment(certificateId) });
  await report(state, agent);
  return { agent, path: `${agent.assignments}/${id}` };
}

async function withRollout(setting: Setting, state: "installed" | "failed") {
  const agent = await newAgent(setting.organization, { labels: { env: "canary" } });
  const certificateId = await importRoot(setting.organization);
  await deactivateOtherRollouts();
  const { id } = await setting.ask("POST", "/rollouts", { body: aRollout(certificateId) });
  await report(state, agent);
  await runRolloutJob();
  return `/rollouts/${id}`;
}

const withDueDate =
  (days: number): Cause =>
  async ({ ask, author }) => {
    const { path } = control();
    await ask("PATCH", path, { body: { status: "in_progress", ownerId: author.id, dueDate: dateAfter(days) } });
    await runJob("watch-due-dates");
    return () => ask("PATCH", path, { body: { status: "implemented", note: "It is in the handbook." } });
  };

/** Sends a sample of the metric, and judges it. */
async function measure({ organization }: Setting, value: number) {
  const body = { system: "support-bot", samples: [{ metric: "error_rate", value }] };
  await call("POST", `/organizations/${organization.id}/ai-governance/ingest/metrics`, { body }); // a trusted gateway's, while there is no key
  await runJob("watch-metrics");
}

async function invite({ ask }: Setting) {
  const { email } = await newUser();
  return (await ask("POST", "/members", { body: { email, firstName: "Grace", lastName: "Hopper" } })) as {
    id: string;
    email: string;
    invitation: { url: string };
  };
}

/** A certificate that expires in so many days, and its notice. */
async function withExpiry({ organization, ask }: Setting, days: number) {
  const commonName = `${crypto.randomUUID()}.example`;
  const [id] = await importInto(organization, certificate({ commonName, from: -300, days }).pem);
  return { commonName, revoke: () => ask("POST", `/certificates/${id}/revoke`, { body: { reason: "keyCompromise" } }) };
}

/** Orders a certificate of these names, which the issuer refuses or issues. */
async function order({ ask }: Setting, isIssued: boolean, names = [`${crypto.randomUUID()}.example`]) {
  const issuer = await ask("POST", "/issuers", { body: acme({ name: crypto.randomUUID() }) });
  conduct(issuer.id, { take: (issuing) => (isIssued ? issued(issuing) : { to: "failed", reason: "The CA refuses the name." }) });
  await ask("POST", "/certificate-requests", { body: { issuerId: issuer.id, names, key: { location: "server" } } });
  await work();
  return names;
}

/** A certificate whose renewal has failed; `again` tries it once more, so many days from now. */
async function withFailedRenewal({ organization, ask }: Setting) {
  const issuer = await ask("POST", "/issuers", { body: acme({ name: crypto.randomUUID() }) });
  const again = async (days: number) => {
    await renew(organization, days);
    await work();
    await renew(organization, days);
  };
  conduct(issuer.id, { take: (issuing) => issued(issuing) });
  await ask("POST", "/certificate-requests", { body: { issuerId: issuer.id, names: [`${crypto.randomUUID()}.example`], key: { location: "server" } } });
  await again(0);
  conduct(issuer.id, { take: () => ({ to: "failed", reason: "The CA refuses the name." }) });
  await again(61);
  return { issuer, again };
}

/** A certificate that is revoked here, and not by its CA. */
async function withFailedRevocation({ organization, ask }: Setting) {
  const config = { directoryUrl: "https://acme.example/directory" };
  const issuer = await ask("POST", "/issuers", { body: { kind: "acme", name: crypto.randomUUID(), config } });
  const takes = { take: (issuing: Parameters<typeof issued>[0]) => issued(issuing) };
  conduct(issuer.id, { ...takes, revoke: () => ({ to: "failed", reason: "The CA refuses." }) });
  const { id } = await ask("POST", "/certificate-requests", {
    body: { issuerId: issuer.id, names: [`${crypto.randomUUID()}.example`], key: { location: "server" } },
  });
  await work();
  const { certificateId } = await ask("GET", `/certificate-requests/${id}`);
  await ask("POST", `/certificates/${certificateId}/revoke`, { body: { reason: "superseded" } });
  await runShared(["tell-revocations"], world.deps, undefined, () => revoking({ ...world.deps, drivers: DRIVERS }));
  return async () => {
    conduct(issuer.id, { ...takes, revoke: () => ({ to: "revoked" }) });
    await world.sql`update ca_revocations set due_at = now() where organization_id = ${organization.id}`;
    await runShared(["tell-revocations"], world.deps, undefined, () => revoking({ ...world.deps, drivers: DRIVERS }));
  };
}

export const CAUSES: Record<NoticeKind, Cause> = {
  certificate_expiring: async (setting) => {
    const { revoke } = await withExpiry(setting, 20);
    await runJob("watch-expiry");
    return revoke;
  },
  certificate_expired: async (setting) => {
    const { revoke } = await withExpiry(setting, 0.5);
    await runJob("watch-expiry", 1);
    return revoke;
  },
  certificate_renewed: once(async (setting) => {
    const { commonName } = await withExpiry(setting, 20);
    await runJob("watch-expiry");
    await dispatch();
    await importInto(setting.organization, certificate({ commonName, days: 90 }).pem);
    await runJob("watch-expiry");
  }),
  certificate_revoked: once(async (setting) => (await withExpiry(setting, 90)).revoke()),
  assignment_failed: async (setting) => {
    const { agent } = await withReport(setting, "failed");
    return () => report("installed", agent);
  },
  assignment_refused: async (setting) => {
    const { agent, path } = await withReport(setting, "refused");
    return async () => {
      await setting.ask("DELETE", path);
      await obey("removed", agent);
    };
  },
  assignment_drifted: once((setting) => withReport(setting, "drifted")),
  agent_silent: async ({ organization }) => {
    const agent = await newAgent(organization);
    await desired(agent);
    await runJob("watch-agents", 1.1);
    return async () => {
      const later = startServer(world.config, world.database, () => after(2));
      await call("GET", "/agent/assignments", { token: agent.token, url: later.url });
      await later.server.stop(true);
    };
  },
  rollout_halted: async (setting) => {
    const path = await withRollout(setting, "failed");
    return () => setting.ask("POST", `${path}/resume`, { body: {} });
  },
  rollout_finished: once((setting) => withRollout(setting, "installed")),
  control_due: withDueDate(3),
  certificate_request_failed: async (setting) => {
    const names = await order(setting, false);
    return () => order(setting, true, names);
  },
  certificate_request_awaits_approval: async ({ ask }) => {
    const issuer = await ask("POST", "/issuers", { body: acme({ name: crypto.randomUUID() }) });
    await ask("PUT", "/issuance-policy", { body: { needsApproval: true } });
    const { id } = await ask("POST", "/certificate-requests", { body: { issuerId: issuer.id, names: ["www.example.org"], key: { location: "server" } } });
    return () => ask("POST", `/certificate-requests/${id}/cancel`);
  },
  issuance_policy_awaits_approval: async ({ ask }) => {
    await ask("PUT", "/issuance-policy", { body: { needsApproval: true } });
    await ask("PUT", "/issuance-policy", { body: { needsApproval: false } });
    return () => ask("PUT", "/issuance-policy", { body: { needsApproval: true } });
  },
  certificate_revocation_failed: withFailedRevocation,
  certificate_issued: once((setting) => order(setting, true)),
  certificate_renewal_failed: async (setting) => {
    const { issuer, again } = await withFailedRenewal(setting);
    return async () => {
      conduct(issuer.id, { take: (issuing) => issued(issuing) });
      await again(70);
    };
  },
  certificate_renewal_late: async (setting) => {
    const { issuer, again } = await withFailedRenewal(setting);
    await again(80);
    return async () => {
      conduct(issuer.id, { take: (issuing) => issued(issuing) });
      await again(85);
    };
  },
  control_overdue: withDueDate(-1),
  control_reopened: async ({ organization, ask, author }) => {
    const { path } = control("iso");
    const [first, second] = await importInto(organization, certificate().pem, certificate().pem);
    const evidence = (certificateId: string | undefined) => ({ evidence: [{ title: "Certificate", certificateId }] });
    await ask("PATCH", path, { body: { status: "implemented", ownerId: author.id, ...evidence(first) } });
    await ask("POST", `/certificates/${first}/revoke`, { body: { reason: "keyCompromise" } });
    await runJob("watch-evidence", 0.001);
    return () => ask("PATCH", path, { body: { status: "implemented", ...evidence(second) } });
  },
  metric_threshold: async (setting) => {
    await setting.ask("POST", "/ai-governance/metric-thresholds", { body: { system: "support-bot", metric: "error_rate", max: 0.05 } });
    await measure(setting, 0.09);
    return () => measure(setting, 0.01);
  },
  document_indexed: once(async ({ organization, author }) => settled(author, (await upload(author, organization.id)).id)),
  document_failed: async ({ organization, author }) => {
    const { id } = await upload(author, organization.id, { text: "<html><body></body></html>", fileName: "empty.html", title: "Empty & blank" });
    await settled(author, id);
    return () => author.call("DELETE", `/admin/knowledge-base/documents/${id}`);
  },
  connection_failed: async ({ organization }) => {
    let status = 401;
    const target = startTarget(() => Response.json({ login: "ada" }, { status }));
    const id = await connect(organization, "github", { apiBaseUrl: target.url, owner: "x", authMethod: "token" }, { token: "s3cr3t" });
    await tryOut(organization, id);
    return async () => {
      status = 200;
      await tryOut(organization, id);
      await target.stop();
    };
  },
  member_invited: once(invite),
  member_joined: once(async (setting) => {
    const { email, invitation } = await invite(setting);
    const user = await newUser({ email });
    const { status, text } = await user.call("POST", "/invitations/accept", { body: { token: new URL(invitation.url).hash.slice(1) } });
    if (status >= 300) throw new Error(`the invitation was answered ${status}: ${text}`);
  }),
  credential_expiring: async ({ ask }) => {
    const { id } = await ask("POST", "/api-tokens", { body: { name: "ci", role: "ORG_MEMBER", expiresAt: after(60).toISOString() } });
    await runJob("watch-credentials", 31);
    return () => ask("DELETE", `/api-tokens/${id}`);
  },
  rows_held: async ({ organization }) => {
    const { id } = await newAgent(organization);
    const note = (isUnproven: boolean) => noteUnproven(world.sql, "agent", { organizationId: organization.id, id }, isUnproven);
    await note(true);
    await runJob("watch-stamping");
    return async () => {
      await note(false);
      await runJob("watch-stamping");
    };
  },
  upgrade_under_way: async () => {
    const { stamps } = world.deps;
    const markers = await readMarkers(world.sql, stamps);
    await writeMarker(world.sql, stamps, 2, { trustsUntil: new Date(Date.now() + 3_600_000) });
    stamps.trust([2]);
    await runJob("watch-stamping");
    return async () => {
      for (const { level, marker } of markers) await writeMarker(world.sql, stamps, level, marker ?? { trustsUntil: null });
      stamps.trust([]);
      await runJob("watch-stamping");
    };
  },
  seat_limit_reached: async (setting) => {
    await setting.author.call("PATCH", `/admin/organizations/${setting.organization.id}`, { body: { seatLimit: 3 } });
    const { id } = await invite(setting);
    return () => setting.ask("DELETE", `/members/${id}`);
  },
};
