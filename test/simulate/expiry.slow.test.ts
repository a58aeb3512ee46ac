import { expect, setDefaultTimeout, test } from "bun:test";
import { startServers } from "./servers";
import { simulateYear } from "./year";

setDefaultTimeout(600_000);

test("two servers record each threshold once, and notify each recipient, whatever happens in forty days, and mail it once by a mail server that fails", async () => {
  const servers = await startServers(7);
  const { differences, needless, received, counts, mail } = await simulateYear({ seed: 7, certificates: 60, days: 40, servers });
  await servers.stop();
  expect(differences).toEqual([]);
  expect(needless).toBe(0);
  expect(Object.keys(received).toSorted()).toEqual(["certificate_expired", "certificate_expiring", "certificate_renewed", "certificate_revoked"]);
  for (const each of [counts.inTime, counts.acknowledged, counts.snoozed, counts.outages, counts.escalations]) expect(each).toBeGreaterThan(0);
  expect(mail.failures).toBeGreaterThan(0);
  expect(mail.sent).toBe(mail.mails);
  expect(mail.doubles).toBe(mail.answersLost);
  expect(mail.unsent).toBe(0);
});
