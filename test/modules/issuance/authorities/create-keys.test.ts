import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { newAuthority, rootBody } from "../../../support/pki/issuing";
import { listKeyProcesses, stopKeyProcess, untilGone } from "../../../support/server/children";
import { newOrganization, newUser } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

setDefaultTimeout(300_000);

const { lanes } = world.deps.keyMaker;
const RSA = { ...rootBody, keyAlgorithm: "rsa-4096" };
afterEach(untilGone);

describe("POST authorities with RSA keys", () => {
  test("leaves the threads to others, who are answered meanwhile", async () => {
    const organization = await newOrganization();
    const user = await newUser();
    const statuses: number[] = [];
    const first = Promise.withResolvers<void>();
    const asked = Array.from({ length: 8 }, async () => {
      statuses.push((await organization.admin("POST", "/authorities", { body: RSA })).status);
      first.resolve();
    });
    await first.promise;
    expect((await user.call("GET", "/users/me")).status).toBe(200);
    expect(statuses.filter((status) => status === 201).length).toBeLessThan(4);
    await Promise.all(asked);
  });

  test("400 and 404 before a key is made: nothing waits for a lane", async () => {
    const organization = await newOrganization();
    const { id: parentId } = await newAuthority(organization, { ...rootBody, lifetimeDays: 10, pathLength: 0 });
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = lanes.run(organization.id, () => promise);
    const ask = async (body: object) => {
      const { status, body: answer } = await organization.admin("POST", "/authorities", { body: { ...RSA, ...body } });
      return [status, answer.message];
    };
    expect(await ask({ kind: "issuing", parentId: crypto.randomUUID() })).toEqual([404, expect.stringContaining("body.parentId")]);
    expect(await ask({ kind: "issuing", parentId })).toEqual([400, expect.stringContaining("body.pathLength must be less")]);
    expect(await ask({ pathLength: 0, issuing: { name: "B", subject: { commonName: "B" } } })).toEqual([400, expect.stringContaining("body.pathLength 0")]);
    expect(await ask({ lifetimeDays: 9, issuing: { name: "B", subject: { commonName: "B" }, lifetimeDays: 10 } })).toEqual([
      400,
      expect.stringContaining("body.issuing.lifetimeDays is longer"),
    ]);
    resolve();
    await held;
  });

  test("429 with Retry-After behind too many of the organization, and 201 for another one meanwhile", async () => {
    const [busy, other] = [await newOrganization(), await newOrganization()];
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = lanes.run(busy.id, () => promise);
    const refused = await busy.admin("POST", "/authorities", { body: RSA });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(refused.body).toEqual({ message: "Too many new RSA keys of this organization are under way. Try again in a moment." });
    expect((await busy.admin("POST", "/authorities", { body: rootBody })).status).toBe(201);
    expect((await other.admin("POST", "/authorities", { body: { ...RSA, keyAlgorithm: "rsa-2048" } })).status).toBe(201);
    resolve();
    await held;
  });

  test("503 where the key is not there in the time of a request, and its process has ended", async () => {
    const { server, url } = startServer({ ...world.config, requestTimeout: 6_000 }, world.database); // a tenth is left for all but the key
    const organization = await newOrganization();
    await organization.admin("GET", "/authorities", { url }); // its guard knows the caller, so that all but the key takes little
    const asked = organization.admin("POST", "/authorities", { body: RSA, url });
    await stopKeyProcess();
    const { status, body } = await asked;
    expect([status, body.message]).toEqual([503, "The private key was not made in time. Try again in a moment."]);
    await untilGone();
    await server.stop(true);
  });

  test("a client that goes away ends the process that makes its key, and frees its lane", async () => {
    const organization = await newOrganization();
    const leaving = new AbortController();
    const asked = fetch(`${world.url}/organizations/${organization.id}/authorities`, {
      method: "POST",
      headers: { ...organization.headers("ORG_ADMIN"), "content-type": "application/json" },
      body: JSON.stringify(RSA),
      signal: leaving.signal,
    });
    await stopKeyProcess();
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await untilGone();
    await lanes.run(organization.id, async () => expect(listKeyProcesses()).toEqual([]));
    expect((await organization.admin("GET", "/authorities")).body.items).toEqual([]);
  });
});
