import { expect, setDefaultTimeout, test } from "bun:test";
import { newHierarchy } from "../../../support/pki/issuing";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { acme, authority } from "../issuers/issuers";
import { conduct, issued, newName, newSetting, PATH, work } from "./requests";

setDefaultTimeout(300_000);

/** Issuers that never answer before `promise`, with orders, more than a server has places. Returns a function that says how many orders were begun. */
async function addSlowIssuers(organization: TestOrganization, count: number, promise: Promise<void>) {
  let begun = 0;
  await Promise.all(
    Array.from({ length: count }, async () => {
      const { body: issuer } = await organization.admin("POST", "/issuers", { body: acme({ name: crypto.randomUUID() }) });
      const take = async () => {
        begun++;
        await promise;
        return { to: "failed", reason: "It took its time." } as const;
      };
      conduct(issuer.id, { take });
      for (let order = 0; order < 4; order++)
        await organization.admin("POST", PATH, { body: { issuerId: issuer.id, names: [newName()], key: { location: "server" } } });
    }),
  );
  return () => begun;
}

test("an order at another organization's issuer is issued while the issuers of one never answer", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const countSlow = await addSlowIssuers(await newOrganization(), 24, promise);
  const other = await newSetting();
  const { id } = await other.order();
  const turn = work();
  while ((await other.get(id)).status !== "issued") await Bun.sleep(10);
  const slow = countSlow();
  resolve();
  await turn;
  expect([slow, countSlow()]).toEqual([16, 96]);
});

test("an order at an authority of the organization's own is issued while its other issuers never answer", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const organization = await newOrganization();
  await addSlowIssuers(organization, 24, promise);
  const { issuing } = await newHierarchy(organization);
  const { body: own } = await organization.admin("POST", "/issuers", {
    body: authority({ config: { authorityId: issuing.id, profile: issuing.profiles[0].name } }),
  });
  conduct(own.id, { take: (each) => issued(each) });
  const { body: order } = await organization.admin("POST", PATH, { body: { issuerId: own.id, names: [newName()], key: { location: "server" } } });
  const turn = work();
  while ((await organization.member("GET", `${PATH}/${order.id}`)).body.status !== "issued") await Bun.sleep(10);
  resolve();
  await turn;
});
