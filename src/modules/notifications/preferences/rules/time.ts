const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Returns whether this is a name of the IANA time zone database, such as Europe/Berlin. */
export function isTimeZone(name: string) {
  try {
    return /^[a-z]/i.test(name) && formatIn(name) !== undefined; // what begins with a sign is an offset
  } catch {
    return false;
  }
}

/**
 * Returns the next moment, after `now`, at which this hour begins in the time zone. An hour that comes twice counts when it comes first;
 * one that is left out counts as late as without the change.
 */
export function nextHour(now: Date, timeZone: string, hour: number) {
  const offsetAt = createOffsets(timeZone);
  const today = Math.floor((now.getTime() + offsetAt(now.getTime())) / DAY_MS);
  const moments = [-1, 0, 1, 2].map((days) => momentOf((today + days) * DAY_MS + hour * HOUR_MS, offsetAt));
  return new Date(Math.min(...moments.filter((each) => each > now.getTime())));
}

type Offsets = ReturnType<typeof createOffsets>;

/** Returns when clocks show `wall`, which is that time as if it were UTC. No time zone changes twice within two days. */
function momentOf(wall: number, offsetAt: Offsets) {
  const before = offsetAt(wall - DAY_MS);
  const after = offsetAt(wall + DAY_MS);
  const isShown = [before, after].find((offset) => offsetAt(wall - offset) === offset);
  return wall - (isShown ?? before);
}

/** Returns a function for the milliseconds by which the clocks of a time zone are ahead of UTC at a moment. */
function createOffsets(timeZone: string) {
  const format = formatIn(timeZone);
  return (moment: number) => {
    const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(moment / 1_000) * 1_000;
  };
}

const formatIn = (timeZone: string) =>
  new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
