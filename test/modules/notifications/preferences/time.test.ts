import { describe, expect, test } from "bun:test";
import { isTimeZone, nextHour } from "#modules/notifications/preferences/rules/time";

const next = (now: string, timeZone: string, hour: number) => nextHour(new Date(now), timeZone, hour).toISOString();

describe("isTimeZone", () => {
  test.each(["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata", "Etc/GMT+5"])("takes %s", (name) => expect(isTimeZone(name)).toBe(true));
  test.each(["Mars/Olympus", "Europe/Berlin ", "+01:00", "-0300", "", "Europe", "Europe/Berlin; drop table users", "constructor"])("refuses %j", (name) =>
    expect(isTimeZone(name)).toBe(false),
  );
});

describe("nextHour", () => {
  test.each([
    ["2026-11-22T07:59:59.999Z", "UTC", 8, "2026-11-22T08:00:00.000Z", "today"],
    ["2026-11-22T08:00:00.000Z", "UTC", 8, "2026-11-23T08:00:00.000Z", "tomorrow, where it is that hour now"],
    ["2026-11-22T21:00:00.000Z", "Europe/Berlin", 8, "2026-11-23T07:00:00.000Z", "in winter"],
    ["2026-07-22T21:00:00.000Z", "Europe/Berlin", 8, "2026-07-23T06:00:00.000Z", "in summer"],
    ["2026-11-22T21:00:00.000Z", "Pacific/Kiritimati", 0, "2026-11-23T10:00:00.000Z", "14 hours ahead"],
    ["2026-11-22T21:00:00.000Z", "Pacific/Pago_Pago", 23, "2026-11-23T10:00:00.000Z", "11 hours behind"],
    ["2026-11-22T21:00:00.000Z", "Asia/Kathmandu", 8, "2026-11-23T02:15:00.000Z", "at a quarter of an hour"],
    ["2026-03-28T12:00:00.000Z", "Europe/Berlin", 2, "2026-03-29T01:00:00.000Z", "an hour that does not exist: when clocks go on"],
    ["2026-03-29T01:00:00.000Z", "Europe/Berlin", 2, "2026-03-30T00:00:00.000Z", "the day after it"],
    ["2026-10-24T12:00:00.000Z", "Europe/Berlin", 2, "2026-10-25T00:00:00.000Z", "an hour that comes twice: the first"],
    ["2026-10-25T00:30:00.000Z", "Europe/Berlin", 2, "2026-10-26T01:00:00.000Z", "not the second"],
    ["2026-03-27T12:00:00.000Z", "America/Nuuk", 23, "2026-03-28T01:00:00.000Z", "the evening before clocks go on at the end of a day"],
    ["2026-03-28T12:00:00.000Z", "America/Nuuk", 23, "2026-03-29T01:00:00.000Z", "an hour that does not exist at the end of a day"],
    ["2026-09-05T12:00:00.000Z", "America/Santiago", 0, "2026-09-06T04:00:00.000Z", "an hour that does not exist at the beginning of a day"],
    ["2026-10-03T12:00:00.000Z", "Australia/Lord_Howe", 2, "2026-10-03T15:30:00.000Z", "half an hour that does not exist"],
  ])("after %s in %s at %d is %s: %s", (now, timeZone, hour, expected) => expect(next(now, timeZone, hour)).toBe(expected));

  test.each(["UTC", "Europe/Berlin", "America/Nuuk", "America/Santiago", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Tehran", "Africa/Cairo"])(
    "comes once a day for a year in %s",
    (timeZone) => {
      const dayOf = new Intl.DateTimeFormat("en-CA", { timeZone });
      for (const hour of [0, 2, 23]) {
        let at = new Date("2026-01-01T12:00:00Z");
        for (let count = 0; count < 365; count++) {
          const following = nextHour(at, timeZone, hour);
          const hours = (following.getTime() - at.getTime()) / 3_600_000;
          if (count > 0) expect({ timeZone, hour, at, isDay: hours >= 23 && hours <= 25 }).toEqual({ timeZone, hour, at, isDay: true });
          at = following;
        }
        expect(["2026-12-31", "2027-01-01"]).toContain(dayOf.format(at));
      }
    },
  );
});
