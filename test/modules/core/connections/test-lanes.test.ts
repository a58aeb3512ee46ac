import { afterAll, expect, test } from "bun:test";
import { openChannel } from "../../../support/server/channels";
import { connect } from "../../../support/server/connections";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { startTarget } from "../../../support/server/target";
import { startServer, world } from "../../../support/server/world";
import { acme } from "../../issuance/issuers/issuers";

const { deps, server, url } = startServer({ ...world.config, allowPrivateTargets: true }, world.database);
const target = startTarget(() => new Response());
afterAll(() => Promise.all([server.stop(true), target.stop()]));

/** The operations of an organization that call others while the caller waits. */
async function newTests(organization: TestOrganization) {
  const connectionId = await connect(organization, "webhook", { url: target.url });
  const channel = await openChannel(organization, "webhook", { url: target.url });
  const { body: issuer } = await organization.admin("POST", "/issuers", { body: acme(), url });
  return [`/core/connections/${connectionId}/test`, `${channel.path}/test`, `/issuers/${issuer.id}/test`];
}

test("POST …/test is 429 with Retry-After behind four of the organization that get no answer, and 200 for another one", async () => {
  const [busy, other] = [await newOrganization(), await newOrganization()];
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = Array.from({ length: 4 }, () => deps.callLanes.run(busy.id, () => promise));
  for (const path of await newTests(busy)) {
    const refused = await busy.admin("POST", path, { url });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(refused.body.message).toBe("Too many tests of connections and issuers of this organization are under way. Try again in a moment.");
  }
  for (const path of await newTests(other)) expect((await other.admin("POST", path, { url })).status).toBe(200);
  resolve();
  await Promise.all(held);
});
