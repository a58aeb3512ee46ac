import { remember } from "#remember";

const MOMENT = /^(.{16}):(\d\d)(?:\.(\d+))?(\D.*)$/;

/** The seconds since 1970 and the microseconds within them; what is finer is cut off. A leap second counts as the second that follows it. */
export const readMoment = remember((text) => {
  const [, minute, second, fraction = "", zone] = MOMENT.exec(text) ?? [];
  return { seconds: Date.parse(`${minute}:00${zone}`) / 1_000 + Number(second), micros: Number(fraction.slice(0, 6).padEnd(6, "0")) };
});

/** Returns the moment in UTC as `iso()` of the database writes it: with milliseconds, with microseconds where it has any. */
export function writeMoment({ seconds, micros }: ReturnType<typeof readMoment>) {
  const digits = String(micros).padStart(6, "0").replace(/000$/, "");
  return new Date(seconds * 1_000).toISOString().replace("000Z", `${digits}Z`);
}
