import { describe, expect, test } from "bun:test";
import { FAILURES_ALLOWED, restAfter, retryAfter, standingOf } from "#modules/issuance/renewals/rules/backoff";
import { decide, putOff, type RenewalFacts } from "#modules/issuance/renewals/rules/next";
import { holdSecondsOf, planRenewal } from "#modules/issuance/renewals/rules/plan";
import { algorithmOf, namesOf } from "#modules/issuance/renewals/rules/template";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const start = new Date("2026-01-01T00:00:00Z");
const after = (milliseconds: number) => new Date(start.getTime() + milliseconds);
const ids = Array.from({ length: 1_000 }, () => Bun.randomUUIDv7());
const plain = { askedAt: null, window: null, isUrgent: false };
const life = (days: number, certificateId = ids[0] ?? "") => ({ certificateId, notBefore: start, notAfter: after(days * DAY) });

describe("a certificate is renewed", () => {
  test.each([90, 47, 6, 1, 5 / 1_440])("of %p days: once two thirds have passed at the latest, and a thirtieth earlier at most, spread evenly", (days) => {
    const shares = ids.map((id) => (planRenewal(life(days, id), plain, start).renewAt.getTime() - start.getTime()) / (days * DAY)).toSorted((a, b) => a - b);
    expect(shares.at(-1)).toBeLessThanOrEqual(2 / 3 + 1e-5);
    expect(shares[0]).toBeGreaterThanOrEqual(2 / 3 - 1 / 30 - 1e-5);
    for (const tenth of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      const share = shares[tenth * 100] ?? 0;
      expect(Math.abs((share - (2 / 3 - 1 / 30)) * 30 - tenth / 10)).toBeLessThan(0.1);
    }
  });

  test("at the same moment for all who plan it", () => {
    expect(planRenewal(life(90), plain, start)).toEqual(planRenewal(life(90), plain, after(DAY)));
  });

  test("when the request for it says so, but never with less than a twelfth left", () => {
    const at = (day: number) => planRenewal(life(90), { ...plain, askedAt: after(day * DAY) }, start).renewAt;
    expect(at(10)).toEqual(after(10 * DAY));
    expect(at(70)).toEqual(after(70 * DAY));
    expect(at(89)).toEqual(after(82.5 * DAY));
    expect(at(500)).toEqual(after(82.5 * DAY));
  });

  test("within the CA's window where that is earlier, spread over it", () => {
    const window = { start: after(20 * DAY), end: after(22 * DAY) };
    const moments = ids.map((id) => planRenewal(life(90, id), { ...plain, window }, start).renewAt);
    expect(moments.every((each) => each >= window.start && each <= window.end)).toBe(true);
    expect(new Set(moments.map((each) => Math.floor((each.getTime() - window.start.getTime()) / (4 * HOUR)))).size).toBe(12);
    const late = { start: after(80 * DAY), end: after(82 * DAY) };
    expect(planRenewal(life(90), { ...plain, window: late }, start)).toEqual(planRenewal(life(90), plain, start));
  });

  test("at once when its moment has passed, when its window has, and when it is revoked", () => {
    const now = after(30 * DAY);
    expect(planRenewal(life(30), plain, now).renewAt).toEqual(now);
    expect(planRenewal(life(90), { ...plain, window: { start: after(DAY), end: after(2 * DAY) } }, now).renewAt).toEqual(now);
    expect(planRenewal(life(90), { ...plain, isUrgent: true, askedAt: after(80 * DAY) }, now).renewAt).toEqual(now);
  });
});

describe("a renewal is late", () => {
  test("once half of what was left has passed", () => {
    const { renewAt, lateAt } = planRenewal(life(90), { ...plain, askedAt: after(60 * DAY) }, start);
    expect([renewAt, lateAt]).toEqual([after(60 * DAY), after(75 * DAY)]);
  });

  test("once the CA's window has ended, unless it had before the plan", () => {
    const window = { start: after(20 * DAY), end: after(22 * DAY) };
    expect(planRenewal(life(90), { ...plain, window }, start).lateAt).toEqual(window.end);
    expect(planRenewal(life(90), { ...plain, window }, after(30 * DAY)).lateAt).toEqual(after(60 * DAY));
  });

  test("an hour after it was revoked", () => {
    expect(planRenewal(life(90), { ...plain, isUrgent: true }, start).lateAt).toEqual(after(HOUR));
  });

  test("at once when it has expired", () => {
    expect(planRenewal(life(1), plain, after(2 * DAY)).lateAt).toEqual(after(2 * DAY));
  });
});

test("the successor is to be everywhere for a day before the certificate is retired, for less of a short lifetime", () => {
  expect([90, 1, 5 / 1_440].map((days) => holdSecondsOf(life(days)))).toEqual([86_400, 3_600, 12]);
});

describe("the next attempt of a renewal that failed", () => {
  const wait = (failures: number, left: number, chance = 0) =>
    retryAfter({ failures, notBefore: after(left - 90 * DAY), notAfter: after(left) }, start, chance).getTime() - start.getTime();

  test("waits twice as long as the one before, up to a day", () => {
    expect([1, 2, 3, 5, 6, 60].map((failures) => wait(failures, 30 * DAY) / HOUR)).toEqual([1, 2, 4, 16, 24, 24]);
  });

  test("waits no longer than an eighth of what is left, and a day again once it has expired, or a thirtieth of a short lifetime", () => {
    expect(wait(5, 8 * HOUR)).toBe(HOUR);
    expect(wait(5, 80_000)).toBe(10_000);
    expect(wait(5, 8_000)).toBe(10_000);
    expect(wait(9, -HOUR)).toBe(DAY);
    const short = { failures: 9, notBefore: after(-10 * MINUTE), notAfter: after(-5 * MINUTE) };
    expect(retryAfter(short, start, 0)).toEqual(after(10_000));
  });

  test("waits up to a quarter more by chance", () => {
    expect(wait(1, 30 * DAY, 1)).toBe(1.25 * HOUR);
  });

  test("spares an issuer that failed in a row: longer each time, an hour at last", () => {
    const allowed = FAILURES_ALLOWED;
    expect([allowed - 1, allowed, allowed + 1, allowed + 2, allowed + 40].map((failures) => restAfter(failures) / MINUTE)).toEqual([0, 5, 10, 20, 60]);
  });

  test("comes as the first one after a success", () => {
    const fare = { failures: 7, restsUntil: after(HOUR) };
    expect(standingOf(fare, ["failed", "issued", undefined], start)).toEqual({ failures: 0, restsUntil: null });
    expect(standingOf(fare, ["open", undefined], start)).toEqual(fare);
    expect(standingOf(fare, ["failed"], start)).toEqual({ failures: 8, restsUntil: after(40 * MINUTE) });
    expect(standingOf({ failures: 1, restsUntil: null }, ["failed", "failed"], start)).toEqual({ failures: 3, restsUntil: null });
  });
});

const renewAt = after(60 * DAY);
const lateAt = after(75 * DAY);
const row = (more: Partial<RenewalFacts> = {}): RenewalFacts => ({
  ...life(90),
  renewAt,
  lateAt,
  status: "active",
  revocationReason: null,
  state: "scheduled",
  isPlanned: true,
  askedAt: null,
  window: null,
  retryAt: null,
  isLate: false,
  failures: 0,
  failure: null,
  request: null,
  isRotated: false,
  isDeployed: true,
  keepsKey: false,
  isHostGone: false,
  isIssuerGone: false,
  isCancelled: false,
  ...more,
});
const decideAt = (now: Date, more: Partial<RenewalFacts> = {}, restsUntil: Date | null = null) => decide(row(more), restsUntil, now, 0);

describe("a certificate that is reviewed", () => {
  test("waits before its time, and is reviewed again then", () => {
    expect(decideAt(after(DAY))).toMatchObject({ state: "scheduled", isRequested: false, reviewAt: renewAt, news: [] });
  });

  test("is ordered at its time, and reviewed again when it is late", () => {
    expect(decideAt(renewAt)).toMatchObject({ state: "ordered", isRequested: true, reviewAt: lateAt, news: [] });
  });

  test("is not ordered while the issuer rests; it can be late meanwhile", () => {
    expect(decideAt(renewAt, {}, after(61 * DAY))).toMatchObject({ state: "scheduled", isRequested: false, reviewAt: after(61 * DAY) });
    expect(decideAt(lateAt, {}, after(80 * DAY))).toMatchObject({ isRequested: false, isLate: true, reviewAt: after(80 * DAY), news: ["late"] });
  });

  test("waits with an open request; once late that is one event, with what the request waits for", () => {
    const open = { state: "ordered", request: { status: "open", reason: "It waits for the agent's key." } } as const;
    expect(decideAt(renewAt, open)).toMatchObject({ state: "ordered", isRequested: false, reviewAt: lateAt, news: [] });
    expect(decideAt(lateAt, open)).toMatchObject({ isLate: true, reviewAt: null, news: ["late"], failure: "It waits for the agent's key." });
    expect(decideAt(lateAt, { ...open, isLate: true })).toMatchObject({ isLate: true, reviewAt: null, news: [] });
  });

  test("is tried again later once its request failed, with an event", () => {
    const failed = { state: "ordered", failures: 1, request: { status: "failed", reason: "The CA said no." } } as const;
    expect(decideAt(renewAt, failed)).toMatchObject({
      state: "failed",
      failures: 2,
      failure: "The CA said no.",
      retryAt: after(60 * DAY + 2 * HOUR),
      news: ["failed"],
    });
    const waiting = { state: "failed", failures: 2, retryAt: after(60 * DAY + 2 * HOUR), failure: "The CA said no." } as const;
    expect(decideAt(after(60 * DAY + HOUR), waiting)).toMatchObject({ state: "failed", isRequested: false, reviewAt: waiting.retryAt });
    expect(decideAt(waiting.retryAt, waiting)).toMatchObject({ state: "ordered", isRequested: true, failures: 2 });
  });

  test("one that a person ordered before its time is not tried again before that", () => {
    const failed = { state: "ordered", request: { status: "failed", reason: null } } as const;
    expect(decideAt(after(DAY), failed)).toMatchObject({ state: "failed", retryAt: renewAt, reviewAt: renewAt });
  });

  test("has its successor follow on its hosts once its request was issued; without any, nothing is left to do", () => {
    const issued = { state: "ordered", isLate: true, failures: 3, request: { status: "issued", reason: null } } as const;
    expect(decideAt(renewAt, issued)).toMatchObject({ state: "issued", reviewAt: renewAt, isLate: false, news: ["over"] });
    expect(decideAt(renewAt, { ...issued, isDeployed: false })).toMatchObject({ state: "renewed", reviewAt: null, news: ["over"] });
    expect(decideAt(renewAt, { ...issued, status: "retired" })).toMatchObject({ state: "renewed" });
    expect(decideAt(renewAt, { ...issued, status: "revoked", revocationReason: "keyCompromise" })).toMatchObject({ state: "issued" });
  });

  test.each(["keyCompromise", "superseded", "unspecified", "cACompromise"])(
    "is ordered at once where it was revoked for %s before its time",
    (revocationReason) => {
      const now = after(DAY);
      expect(decideAt(now, { status: "revoked", revocationReason })).toMatchObject({
        state: "ordered",
        isRequested: true,
        renewAt: now,
        lateAt: after(DAY + HOUR),
      });
    },
  );

  test.each(["cessationOfOperation", "certificateHold", "privilegeWithdrawn", "affiliationChanged"])(
    "has ended where it was revoked for %s",
    (revocationReason) => {
      expect(decideAt(after(DAY), { status: "revoked", revocationReason })).toMatchObject({ state: "ended", reviewAt: null, news: ["over"] });
    },
  );

  test("has ended with a compromised key that its renewal would keep, without its host, without its issuer, retired, and long after it expired", () => {
    expect(decideAt(renewAt, { status: "revoked", revocationReason: "keyCompromise", keepsKey: true }).state).toBe("ended");
    expect(decideAt(renewAt, { isHostGone: true }).state).toBe("ended");
    expect(decideAt(renewAt, { isIssuerGone: true }).state).toBe("ended");
    expect(decideAt(renewAt, { status: "retired" }).state).toBe("ended");
    expect(decideAt(after(119 * DAY)).isRequested).toBe(true);
    expect(decideAt(after(121 * DAY)).state).toBe("ended");
  });

  test("has ended where a person cancelled or refused its request, and stays so when it is revoked", () => {
    const cancelled = { isCancelled: true, state: "ordered", request: { status: "cancelled", reason: "No." } } as const;
    const reason = "The certificate request that was to renew it was cancelled or refused.";
    expect(decideAt(renewAt, cancelled)).toMatchObject({ state: "ended", failure: reason, isRequested: false, reviewAt: null, news: ["over"] });
    const revoked = { isCancelled: true, state: "ended", status: "revoked", revocationReason: "superseded" } as const;
    expect(decideAt(renewAt, revoked)).toMatchObject({ state: "ended", isRequested: false });
  });

  test("is planned again when it has ended and is active again", () => {
    expect(decideAt(after(DAY), { state: "ended", renewAt: start, failure: "The certificate is retired." })).toMatchObject({
      state: "scheduled",
      reviewAt: planRenewal(life(90), plain, start).renewAt,
    });
  });

  test("is not ordered where a person gave it a successor", () => {
    expect(decideAt(renewAt, { isRotated: true })).toMatchObject({ state: "renewed", isRequested: false });
  });

  test("is reviewed when it was put off to, or when it is late", () => {
    expect(putOff(row(), after(61 * DAY), renewAt)).toMatchObject({ state: "scheduled", isRequested: false, reviewAt: after(61 * DAY) });
    expect(putOff(row({ state: "failed" }), after(90 * DAY), renewAt)).toMatchObject({ state: "failed", reviewAt: lateAt });
  });
});

describe("an imported certificate", () => {
  const none = { dns: [], ip: [], email: [], uri: [] };

  test("is ordered with its alternative names, else its common name", () => {
    expect(namesOf({ commonName: "x", alternativeNames: { ...none, dns: ["a.example.com"], ip: ["10.0.0.1"] } })).toEqual({
      names: [
        { type: "dns", value: "a.example.com" },
        { type: "ip", value: "10.0.0.1" },
      ],
    });
    expect(namesOf({ commonName: "www.example.com", alternativeNames: none })).toEqual({ names: [{ type: "dns", value: "www.example.com" }] });
  });

  test("has the names named that no issuer issues", () => {
    expect(namesOf({ commonName: "Ada Lovelace", alternativeNames: none })).toHaveProperty("invalid");
    expect(namesOf({ commonName: "a.example.com", alternativeNames: { ...none, email: ["ada@example.com"] } })).toHaveProperty("invalid");
  });

  test("the kind of its key, where that can be ordered", () => {
    expect(algorithmOf({ algorithm: "EC", size: 384, curve: "P-384" })).toBe("ecdsa-p384");
    expect(algorithmOf({ algorithm: "RSA", size: 2048, curve: null })).toBe("rsa-2048");
    expect(algorithmOf({ algorithm: "RSA", size: 1024, curve: null })).toBe("ecdsa-p256");
    expect(algorithmOf({ algorithm: "Ed25519", size: 256, curve: null })).toBe("ecdsa-p256");
  });
});
