import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { SHORT } from "../simulate/renewals/short";
import { simulateRenewals } from "../simulate/renewals/simulate";
import { endServers } from "../support/pki/tls-servers";

setDefaultTimeout(900_000);
afterAll(endServers);

test("certificates of a minute and a half are renewed on their hosts while the server is killed and the CA is away", async () => {
  const { counts, faults, reasons } = await simulateRenewals(SHORT, console.info);
  console.info(counts);
  expect(faults).toEqual([]);
  expect(reasons).toEqual([]);
  const names = Object.values(SHORT.names).reduce((sum, each) => sum + each);
  expect(counts).toMatchObject({ names, kills: 1, outages: 1 });
  expect(counts.renewals).toBeGreaterThanOrEqual(names);
});
