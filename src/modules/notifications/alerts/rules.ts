const DAY = 86_400_000;
const LONGEST = 366;

/** The moment at which a snooze ends, or what is wrong with the day. */
export function endOfSnooze(day: string, now: Date): Date | { invalid: string } {
  const until = new Date(`${day}T00:00:00Z`);
  const isDay = !Number.isNaN(until.getTime()) && until.toISOString().startsWith(day);
  if (!isDay) return { invalid: "body.until must be a day, such as 2030-01-15." };
  if (until <= now) return { invalid: "body.until must be a day in the future (UTC)." };
  if (until.getTime() > now.getTime() + LONGEST * DAY) return { invalid: "body.until must be at most a year from now." };
  return until;
}
