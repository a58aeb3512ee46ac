const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The thresholds by default, as the documentation says them: days, and one part of so many of the lifetime. */
const SAID = [
  { days: 60, part: 3 },
  { days: 30, part: 6 },
  { days: 14, part: 12 },
  { days: 7, part: 12 },
  { days: 3, part: 12 },
  { days: 1, part: 12 },
];

type State = "none" | "open" | "acknowledged" | "snoozed" | "cleared";
type Reminder = { days: number; recipients: ReadonlySet<string> };
export type Known = {
  id: string;
  names: number;
  notBefore: number;
  notAfter: number;
  ownerId: string | null;
  isActive: boolean;
  state: State;
  until: number;
  noticesOf: Map<string, Set<number>>;
  last: Reminder | undefined;
};

const ROLE = "the role";

/**
 * What members must hear of certificates, worked out hour by hour without a database, an index or a line of the server's rules. `heard` counts
 * what each user heard: user, certificate, kind, days.
 */
export function createOracle(admins: readonly string[]) {
  const known = new Map<string, Known>();
  const byNames = new Map<number, Known[]>();
  const received = new Map<string, number>();
  const silent = { acknowledged: 0, snoozed: 0 };
  const counts = { reminders: 0, escalations: 0 };

  function receive(recipients: Iterable<string>, { id }: Known, kind: string, days = "") {
    for (const user of recipients) {
      const key = `${user} ${id} ${kind} ${days}`;
      received.set(key, (received.get(key) ?? 0) + 1);
    }
  }

  const stands = ({ state }: Known) => state === "open" || state === "acknowledged" || state === "snoozed";
  const remindersOf = (certificate: Known, whom: string) => {
    const days = certificate.noticesOf.get(whom) ?? new Set<number>();
    certificate.noticesOf.set(whom, days);
    return days;
  };

  function add(given: Pick<Known, "id" | "names" | "notBefore" | "notAfter" | "ownerId">) {
    const certificate: Known = { ...given, isActive: true, state: "none", until: 0, noticesOf: new Map(), last: undefined };
    known.set(given.id, certificate);
    byNames.set(given.names, [...(byNames.get(given.names) ?? []), certificate]);
  }

  /** The certificate of these names that none outlives. */
  function current(names: number, now: number) {
    let latest: Known | undefined;
    for (const each of byNames.get(names) ?? []) if (each.isActive && each.notBefore <= now && each.notAfter > (latest?.notAfter ?? 0)) latest = each;
    return latest;
  }

  function end(certificate: Known, isRevoked: boolean) {
    certificate.isActive = false;
    if (isRevoked) receive(certificate.ownerId ? [certificate.ownerId] : admins, certificate, "certificate_revoked");
    if (stands(certificate)) certificate.state = "cleared";
  }

  function clearRenewed(certificate: Known) {
    const role = certificate.ownerId === null || remindersOf(certificate, ROLE).size > 0 ? admins : [];
    receive(new Set([...(certificate.ownerId ? [certificate.ownerId] : []), ...role]), certificate, "certificate_renewed");
    certificate.state = "cleared";
  }

  /** What is said of a certificate at its most urgent threshold, where that was not said yet. */
  function reach(certificate: Known, now: number): Reminder | undefined {
    const reached = daysReached(certificate, now);
    if (reached.length === 0) return;
    const days = Math.min(...reached);
    const { ownerId } = certificate;
    const reminded = remindersOf(certificate, ownerId ?? ROLE);
    if (reminded.has(days)) return;
    const isEscalated = isIgnored(certificate, reminded) && !remindersOf(certificate, ROLE).has(days);
    for (const each of reached) reminded.add(each);
    if (isEscalated) {
      remindersOf(certificate, ROLE).add(days);
      counts.escalations++;
    }
    certificate.last = { days, recipients: new Set([...(ownerId ? [ownerId] : admins), ...(isEscalated ? admins : [])]) };
    return certificate.last;
  }

  /** The owner was notified before, and nothing has come of it. */
  const isIgnored = ({ ownerId, state }: Known, reminded: ReadonlySet<number>) => ownerId !== null && reminded.size > 0 && state === "open";

  const notify = (certificate: Known, { days, recipients }: Reminder) =>
    receive(recipients, certificate, days === 0 ? "certificate_expired" : "certificate_expiring", `${days}`);

  function dispatch(certificate: Known, said: Reminder, now: number) {
    if (certificate.state === "acknowledged") silent.acknowledged++;
    else if (certificate.state === "snoozed" && certificate.until > now && said.days > 0) silent.snoozed++;
    else {
      notify(certificate, said);
      certificate.state = "open";
    }
  }

  function look(now: number) {
    for (const [names, all] of byNames) judge(all, current(names, now), now);
  }

  function judge(all: readonly Known[], latest: Known | undefined, now: number) {
    for (const each of all) if (each !== latest && each.isActive && stands(each)) clearRenewed(each);
    const said = latest && reach(latest, now);
    if (said) dispatch(latest, said, now);
    for (const each of all) if (each.state === "snoozed" && each.until <= now) remind(each);
  }

  function remind(certificate: Known) {
    certificate.state = "open";
    if (certificate.last) notify(certificate, certificate.last);
    counts.reminders++;
  }

  /** What a member has decided of certificates of which something stands. */
  function change(ids: readonly string[], state: "open" | "acknowledged" | "snoozed", until = 0) {
    for (const id of ids) {
      const certificate = known.get(id);
      if (certificate && stands(certificate)) Object.assign(certificate, { state, until });
    }
  }

  return { known, received, silent, counts, add, current, end, look, change, standing: () => [...known.values()].filter(stands) };
}

/** The days of the thresholds that are reached; 0 is the end. */
function daysReached({ notBefore, notAfter }: Known, now: number) {
  const left = notAfter - now;
  const reached = SAID.filter(({ days, part }) => left <= days * DAY && left * part <= notAfter - notBefore).map(({ days }) => days);
  return left <= 0 ? [...reached, 0] : reached;
}
