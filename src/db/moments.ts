import { remember } from "#runtime/remember";

const FORM = /^(?!0000)\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]((0\d|1[0-3]):[0-5]\d|14:00))$/;
const FIRST_SECOND = Date.parse("0001-01-01T00:00:00Z") / 1_000;
const LAST_SECOND = Date.parse("9999-12-31T23:59:59Z") / 1_000;
const MOMENT = /^(.{16}:\d\d)(?:\.(\d+))?(\D.*)$/;

/** Returns the seconds since 1970 and the microseconds within them; what is finer is cut off. */
export const readMoment = remember((text) => {
  const [, second, fraction = "", zone] = MOMENT.exec(text) ?? [];
  return { seconds: Date.parse(`${second}${zone}`) / 1_000, micros: Number(fraction.slice(0, 6).padEnd(6, "0")) };
});

/**
 * Returns whether the text is a moment of the years 1 to 9999 in ISO 8601 with an offset. `Date` accepts other forms and days
 * that do not exist, at which Postgres fails; a second 60 is refused.
 */
export const isMoment = remember((text) => {
  const isDay = FORM.test(text) && new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() === Number(text.slice(8, 10));
  if (!isDay) return false;
  const { seconds } = readMoment(text);
  return seconds >= FIRST_SECOND && seconds <= LAST_SECOND;
});

/** Returns the moment in UTC as `iso()` of the database writes it: with milliseconds, with microseconds where it has any. */
export function writeMoment({ seconds, micros }: ReturnType<typeof readMoment>) {
  const digits = String(micros).padStart(6, "0").replace(/000$/, "");
  return new Date(seconds * 1_000).toISOString().replace("000Z", `${digits}Z`);
}
