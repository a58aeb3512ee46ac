import { annotateCertificate } from "#modules/certificates/certificates/queries/annotate";
import { retireCertificate, revokeCertificate } from "#modules/certificates/certificates/queries/certificates";
import { watchExpiry } from "#modules/certificates/expiry/services/watch";
import { changeAlerts } from "#modules/notifications/alerts/queries";
import { dispatchEvents } from "#modules/notifications/dispatch/services/dispatch";
import { countHeard, differ } from "./compare";
import { countUnsent, listMailable, sendQueued } from "./mail";
import { createOracle, type Known } from "./oracle";
import { importCertificates, isPending, listReceived, newPeople } from "./organization";
import { createRandom, type Random } from "./random";
import type { Servers } from "./servers";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Days of lifetimes, as often as they stand here: a day, a week, what public certificates have and will have, a year. */
const LIFETIMES = [
  ...Array(1).fill(1),
  ...Array(2).fill(7),
  ...Array(15).fill(47),
  ...Array(20).fill(90),
  ...Array(12).fill(100),
  ...Array(25).fill(200),
  ...Array(25).fill(398),
];

export type Simulation = {
  seed: number;
  certificates: number;
  days: number;
  servers: Servers;
  notify?: (line: string) => void;
};

/** Plays a year hour by hour on real databases, and works out beside it what members must hear and be mailed. Returns what differs, and counts. */
export async function simulateYear({ seed, certificates, days, servers, notify = () => {} }: Simulation) {
  const random = createRandom(seed);
  const { deps, pools, works, failing } = servers;
  const [sql] = pools;
  const { scope, organizationId, admins, people } = await newPeople(sql);
  const oracle = createOracle(admins);
  const start = Math.ceil(Date.now() / HOUR) * HOUR;
  const counts = { imported: 0, inTime: 0, revoked: 0, retired: 0, owners: 0, acknowledged: 0, snoozed: 0, reopened: 0, outages: 0, hoursAway: 0 };
  const fares = { sent: 0, failures: 0, mostAttempts: 0 };
  /** When each of the names gets its next certificate. */
  const renewals = new Map<number, number>();
  const isRenewedInTime = new Set<string>();
  let waiting: Known[] = [];

  function issue(names: number, notBefore: number, lifetime: number) {
    const id = Bun.randomUUIDv7();
    const ownerId = random.isOnce(0.5) ? random.pick(people) : null;
    oracle.add({ id, names, notBefore, notAfter: notBefore + lifetime, ownerId });
    const added = oracle.known.get(id);
    if (added) waiting.push(added);
    const next = chooseRenewal(random, notBefore, lifetime);
    if (next === undefined) renewals.delete(names);
    else renewals.set(names, next);
  }

  async function importWaiting() {
    if (waiting.length > 0) await importCertificates(sql, organizationId, waiting);
    counts.imported += waiting.length;
    waiting = [];
  }

  function renewDue(now: number) {
    for (const [names] of [...renewals].filter(([, at]) => at <= now)) {
      const old = oracle.current(names, now);
      const lifetime = old ? old.notAfter - old.notBefore : random.pick(LIFETIMES) * DAY;
      if (old && old.noticesOf.size === 0 && now < old.notAfter - Math.min(60 * DAY, lifetime / 3)) {
        isRenewedInTime.add(old.id);
        counts.inTime++;
      }
      issue(names, now - Math.floor(random.between(0, 60_000)), lifetime);
    }
  }

  /** What people do in an hour. Nothing is done to a certificate that was imported in it. */
  async function act(now: number) {
    const at = new Date(now);
    const names = Math.floor(random.next() * certificates);
    const certificate = oracle.current(names, now);
    const target = certificate && { id: certificate.id, versions: undefined };
    if (target && random.isOnce(0.15)) {
      const ownerId = random.isOnce(0.2) ? null : random.pick(people);
      await annotateCertificate(sql, scope, target, { ownerId }, at);
      certificate.ownerId = ownerId;
      counts.owners++;
    } else if (target && random.isOnce(0.03)) {
      await revokeCertificate(sql, deps.stamps, scope, target, "superseded", at);
      forgive(certificate);
      oracle.end(certificate, true);
      counts.revoked++;
    } else if (target && random.isOnce(0.02)) {
      await retireCertificate(sql, deps.stamps, scope, target, at);
      forgive(certificate);
      oracle.end(certificate, false);
      counts.retired++;
    }
    if (random.isOnce(0.2)) await decide(now);
  }

  /** What a certificate that ends has renewed is current again. */
  function forgive({ names }: Known) {
    for (const each of oracle.known.values()) if (each.names === names) isRenewedInTime.delete(each.id);
  }

  /** A member acknowledges, snoozes or reopens what a notice of theirs stands for. */
  async function decide(now: number) {
    const standing = oracle.standing();
    if (standing.length === 0) return;
    const { id, last } = random.pick(standing);
    const userId = random.pick([...(last?.recipients ?? admins)]);
    const what = random.pick(["acknowledged", "snoozed", "snoozed", "reopened"] as const);
    const until = what === "snoozed" ? Math.ceil((now + random.between(0, 40 * DAY)) / DAY) * DAY : 0;
    const [notice] = await sql<{ id: string; notificationId: string }[]>`
      select n.id, n.notification_id as "notificationId" from notification_events e join notices n on n.notification_id = e.notification_id
      where e.organization_id = ${organizationId} and e.subject_id = ${id} and n.user_id = ${userId} and n.state <> 'cleared' order by n.position desc limit 1`;
    if (!notice || (what === "snoozed" && until <= now)) return;
    const state = what === "reopened" ? "open" : what;
    const change = { action: `notification.${what}` as const, state, until: until ? new Date(until) : null, reason: null } as const;
    await changeAlerts(sql, { userId, noticeId: notice.id, requestId: "simulation" }, change, new Date(now));
    const subjects = await sql<{ id: string }[]>`
      select distinct subject_id as id from notification_events where organization_id = ${organizationId} and notification_id = ${notice.notificationId}`;
    oracle.change(
      subjects.map((each) => each.id),
      state,
      until,
    );
    counts[what]++;
  }

  /** All servers watch and dispatch at once; then, as in the seconds and hours that follow, until nothing is pending and nothing to mail. */
  async function turn(now: number) {
    const clock = () => new Date(now);
    const { signal } = new AbortController();
    await Promise.all(
      pools.map(async (each) => {
        await watchExpiry({ sql: each, clock }, signal);
        await dispatchEvents({ ...deps, sql: each, clock }, signal);
      }),
    );
    while (await isPending(sql, organizationId)) await dispatchEvents({ ...deps, sql, clock }, signal);
    await sendQueued(sql, organizationId, works, fares);
    failing.gather();
  }

  for (let names = 0; names < certificates; names++) {
    const lifetime = random.pick(LIFETIMES) * DAY;
    issue(names, start - Math.floor(random.next() * lifetime * 0.6), lifetime);
  }
  await importWaiting();
  await sql`analyze certificates, expiry_watch`;
  let awayUntil = 0;
  for (let hour = 0; hour < days * 24; hour++) {
    const now = start + hour * HOUR;
    if (hour % (50 * 24) === 0) notify(`day ${hour / 24}: ${counts.imported} certificates, ${oracle.received.size} things heard`);
    if (awayUntil > now) {
      counts.hoursAway++;
      continue;
    }
    if (random.isOnce(1 / 200)) {
      awayUntil = now + Math.ceil(random.between(0, 90)) * HOUR;
      counts.outages++;
      continue;
    }
    await act(now);
    renewDue(now);
    await importWaiting();
    await turn(now);
    oracle.look(now);
  }
  const found = await listReceived(sql, organizationId);
  const mailable = await listMailable(sql, organizationId, deps.config.publicUrl ?? "");
  return {
    counts: { ...counts, ...oracle.counts, silent: oracle.silent },
    mail: { notices: sum(mailable), ...failing.counts, ...fares, unsent: await countUnsent(sql, organizationId), mostConnections: failing.connections().most },
    differences: [...differ(oracle.received, found, "in the inbox"), ...differ(mailable, failing.mailed, "mailed")],
    ...countHeard(found, isRenewedInTime),
  };
}

const sum = (counts: ReadonlyMap<string, number>) => counts.values().reduce((total, each) => total + each, 0);

/** When a certificate is renewed: before any notice of it, late, after its end, or never. */
function chooseRenewal(random: Random, notBefore: number, lifetime: number) {
  const kind = random.next();
  const share = kind < 0.72 ? random.between(0.3, 0.6) : kind < 0.9 ? random.between(0.7, 0.99) : random.between(1.01, 1.2);
  return kind < 0.96 ? notBefore + lifetime * share : undefined;
}
