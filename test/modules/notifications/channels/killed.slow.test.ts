import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { certificate } from "../../../support/pki/certificates";
import { endServers, newPlace, run, serve } from "../../../support/server/program";
import { startTarget } from "../../../support/server/target";

setDefaultTimeout(600_000);

const place = await newPlace();
afterEach(endServers);
afterAll(() => place.remove());

test("a delivery that a killed server had is made by the next one, with the same webhook-id", async () => {
  const isKilled = Promise.withResolvers<void>();
  const isAsked = Promise.withResolvers<void>();
  const target = startTarget(async (_, index) => {
    isAsked.resolve();
    if (index === 0) await isKilled.promise;
    return new Response();
  });
  const env = { ...place.env, ALLOW_PRIVATE_TARGETS: "true" };
  const user = crypto.randomUUID();
  const { out: organizationId } = await run(
    ["admin", "create-organization", "--name", "Example", "--admin-user", user, "--admin-email", "ada@example.org"],
    env,
  );
  const { out: token } = await run(["token", "--user", user, "--email", "ada@example.org"], env);
  const headers = {
    authorization: `Bearer ${token}`,
    "x-organization-id": organizationId,
    "x-organization-role": "ORG_ADMIN",
    "content-type": "application/json",
  };
  const first = serve(env);
  let url = await first.url();
  async function call(method: string, path: string, body?: object) {
    const answer = await fetch(`${url}/organizations/${organizationId}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    expect(answer.ok).toBeTrue();
    return (await answer.json()) as { id: string; items: { state: string }[] };
  }
  const { id: connectionId } = await call("POST", "/core/connections", { kind: "webhook", name: "x", config: { url: target.url } });
  const { id: routeId } = await call("POST", "/notification-routes", { name: "x", target: { connectionId }, kinds: ["certificate_expiring"] });
  await call("POST", "/certificates", { pem: certificate({ days: 5, from: -300 }).pem });
  await isAsked.promise;
  await first.exit("SIGKILL");
  isKilled.resolve();

  const second = serve(env);
  url = await second.url();
  const deliveries = async () => (await call("GET", `/notification-routes/${routeId}/deliveries`)).items;
  while ((await deliveries())[0]?.state !== "delivered") await Bun.sleep(100);
  expect(await deliveries()).toMatchObject([{ state: "delivered", attempts: [{ status: 200 }] }]);
  expect(target.requests).toHaveLength(2);
  expect(new Set(target.requests.map(({ headers: { "webhook-id": id } }) => id)).size).toBe(1);
  expect((await second.exit("SIGTERM")).code).toBe(0);
  await target.stop();
});
