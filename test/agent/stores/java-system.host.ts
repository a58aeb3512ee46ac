import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { watchJava } from "../../support/agent/java-machine";

setDefaultTimeout(600_000);

// biome-ignore lint/suspicious/noExplicitAny: whatever the script saw
let seen: any;
beforeAll(async () => {
  seen = await watchJava();
});

describe.each(["system", "cacerts"] as const)("Java, by the hook of ca-certificates-java (%s)", (store) => {
  const installed = () => ({ state: "installed", observedFingerprint: seen.fingerprint });

  test("refuses, trusts once it is installed, and refuses once it is removed", () => {
    expect(seen[store]).toMatchObject({ before: false, installed: installed(), trusted: true, removed: { state: "removed" }, afterwards: false });
    expect(seen.left).toBe(false);
  });

  test("failed: an installation that is rolled back is trusted no more", () => {
    expect(seen[store].failed).toMatchObject({ state: "failed", message: expect.stringMatching(/^false ended with exit code 1.*Rolled back: the store/) });
    expect(seen[store].afterFailure).toBe(false);
  });

  test("failed: a removal that the hook could not carry out, because dpkg was busy; the next attempt removes it", () => {
    expect(seen[store].busy).toMatchObject({ state: "failed", message: expect.stringContaining("jks-keystore ended with exit code") });
    expect(seen[store].whileBusy).toBe(true);
    expect(seen[store].atLast).toBe(false);
  });

  test("installed and removed, where dpkg was interrupted in the middle of the hook before: the hook's package is configured", () => {
    expect(seen[store]).toMatchObject({ installedLate: installed(), trustedLate: true, removedLate: { state: "removed" }, afterLate: false });
  });

  test("kept: an entry of the same certificate that another owner has put into Java's trust store", () => {
    expect(seen[store].kept).toMatchObject({ state: "kept", message: expect.stringContaining("/etc/ssl/certs/java/cacerts holds it as ‹mine›") });
    expect(seen[store].whileKept).toBe(true);
  });
});

test("java_cacerts, drifted: an entry that another program took out of Java's trust store is put back", () => {
  expect(seen.cacerts.healed).toMatchObject({ state: "drifted", message: expect.stringContaining("/etc/ssl/certs/java/cacerts lacks it") });
  expect(seen.cacerts.afterHealing).toBe(true);
});

test("four anchors that come and go together: the tool runs once each time, its hooks run once for all that went, and Java trusts none any more", () => {
  expect(seen.many.installed.map(({ state }: { state: string }) => state)).toEqual(Array(4).fill("installed"));
  expect(seen.many).toMatchObject({ runs: ["update", "gone 0"], trusted: true });
  expect(seen.many.removed).toEqual(Array(4).fill({ state: "removed" }));
  expect(seen.many).toMatchObject({ runsOfRemoval: ["update", "gone 0", "gone 4"], afterwards: false, left: [] });
});
