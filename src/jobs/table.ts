import { endTrust } from "#maintenance/stamping";
import { watchStamping } from "#maintenance/watch-stamping";
import { watchExpiry } from "#modules/certificates/expiry/services/watch";
import { foldCounts } from "#modules/core/widgets/queries/counts";
import { watchSilence } from "#modules/fleet/agents/queries/watch";
import { watchDueDates, watchEvidence } from "#modules/governance/frameworks/queries/watch";
import { watchMetrics } from "#modules/governance/metric-thresholds/queries/watch";
import { publish } from "#modules/issuance/pki/services/publish";
import { renewDue } from "#modules/issuance/renewals/services/renew";
import { asking } from "#modules/issuance/renewals/services/windows";
import { issuing } from "#modules/issuance/requests/services/work";
import { revoking } from "#modules/issuance/revocations/services/revoke";
import { delivering, tidyChannels } from "#modules/notifications/channels/services/deliver";
import { watchCredentials } from "#modules/notifications/credentials/queries";
import { dispatchEvents } from "#modules/notifications/dispatch/services/dispatch";
import { mailDigests } from "#modules/notifications/mail/services/digests";
import { watchSeats } from "#modules/people/members/queries/seats";
import { SAVE_EVERY_MS, type Shares } from "#modules/platform/jobs/rules";
import { applyPolicies } from "./apply-policies";
import { indexingEvents, writeAuditTrail } from "./audit-trail";
import { forgetNotifications, forgettingNotifications } from "./forget-notifications";
import { forgetReports, forgetting } from "./forget-reports";
import { inBatches } from "./in-batches";
import { indexDocument, indexing, indexingFailed, reportFailure } from "./index-document";
import type { Job } from "./job";
import { linkCertificates, linking } from "./link-certificates";
import { maintainPartitions } from "./partitions";
import { reconcileRollouts, reconciling } from "./reconcile-rollouts";
import { giveUpMail, mailFailed, mailing, sendMail } from "./send-mail";
import { sweeping, sweepObjects } from "./sweep-objects";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 1_440 * MINUTE_MS;

/** Of work that calls others, an organization has a quarter of the places; what one target is asked, is asked one after the other. */
const SHARES: Shares = { total: 64, ofOrganization: 16, ofTarget: 1 };
/** The orders at one issuer go on beside each other. */
const ISSUING: Shares = { ...SHARES, ofTarget: 8 };

/** All background work of a server: a new job is a row here. A queue for dead letters stands before the one that names it. */
export const JOBS: readonly Job[] = [
  { ...indexingFailed, work: reportFailure },
  { ...indexing, work: indexDocument },
  { ...sweeping, byClock: true, work: sweepObjects },
  { ...reconciling, byClock: true, work: reconcileRollouts },
  { ...linking, work: linkCertificates },
  { ...forgetting, byClock: true, work: forgetReports },
  { ...forgettingNotifications, byClock: true, work: forgetNotifications },
  { ...mailFailed, work: giveUpMail },
  { ...mailing, work: sendMail },
  { name: "apply-policies", everyMs: 2 * SECOND_MS, run: applyPolicies },
  { name: "fold-counts", everyMs: 5 * SECOND_MS, run: ({ sql }, signal) => foldCounts(sql, signal) },
  { name: "issue-certificates", everyMs: SECOND_MS, byClock: true, shares: ISSUING, source: (deps) => issuing(deps, { isOwn: false }) },
  { name: "issue-own-certificates", everyMs: SECOND_MS, byClock: true, shares: ISSUING, source: (deps) => issuing(deps, { isOwn: true }) },
  { name: "renew-certificates", everyMs: 2 * SECOND_MS, byClock: true, run: renewDue },
  { name: "ask-renewal-windows", everyMs: 20 * SECOND_MS, byClock: true, shares: SHARES, source: asking },
  { name: "tell-revocations", everyMs: 2 * SECOND_MS, shares: SHARES, source: revoking },
  { name: "watch-expiry", everyMs: 20 * SECOND_MS, byClock: true, run: watchExpiry },
  { name: "watch-agents", everyMs: 20 * SECOND_MS, byClock: true, run: inBatches(watchSilence) },
  { name: "watch-due-dates", everyMs: MINUTE_MS, byClock: true, run: inBatches(watchDueDates) },
  { name: "watch-evidence", everyMs: 20 * SECOND_MS, byClock: true, run: inBatches(watchEvidence) },
  { name: "watch-credentials", everyMs: MINUTE_MS, byClock: true, run: inBatches(watchCredentials) },
  { name: "watch-seats", everyMs: MINUTE_MS, run: watchSeats },
  { name: "watch-metrics", everyMs: MINUTE_MS, run: watchMetrics },
  { name: "mail-digests", everyMs: 20 * SECOND_MS, byClock: true, run: mailDigests },
  { name: "tell-events", everyMs: SECOND_MS, byClock: true, run: dispatchEvents },
  { name: "deliver-notifications", everyMs: SECOND_MS, byClock: true, shares: SHARES, source: (deps) => delivering(deps, { isFailing: false }) },
  { name: "deliver-to-failing-channels", everyMs: SECOND_MS, byClock: true, shares: SHARES, source: (deps) => delivering(deps, { isFailing: true }) },
  { name: "tidy-channels", everyMs: MINUTE_MS, run: tidyChannels },
  { name: "publish-revocations", everyMs: SECOND_MS, byClock: true, run: publish },
  { name: "maintain-partitions", everyMs: DAY_MS, byClock: true, run: maintainPartitions },
  { name: "write-audit-trail", everyMs: 5 * SECOND_MS, run: writeAuditTrail, inEachProcess: true, lastTurnMs: 5 * SECOND_MS },
  { name: "index-audit-events", everyMs: SECOND_MS, run: indexingEvents(), inEachProcess: true },
  { name: "save-job-runs", everyMs: SAVE_EVERY_MS, run: ({ jobRuns }) => jobRuns.save(), inEachProcess: true, lastTurnMs: 5 * SECOND_MS },
  { name: "watch-stamping", everyMs: MINUTE_MS, run: watchStamping },
  { name: "end-trust", everyMs: MINUTE_MS, run: async (deps) => endTrust(deps), inEachProcess: true },
];
