import { expect, setDefaultTimeout } from "bun:test";
import { newName } from "../../../support/issuance/acme";
import { type Pebble, startPebble } from "../../../support/issuance/pebble";
import { type Ending, startRecorder } from "../../../support/issuance/recorder";
import { needing } from "../../../support/needing";
import { runHere, startJobProcess } from "../../../support/server/crash";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

const { afterAll, beforeAll, describe, test } = needing("pebble");

setDefaultTimeout(900_000);

const JOBS = ["issue-certificates"];
const { sql } = world;
const config = { ...world.config, allowPrivateTargets: true };

// A process of its own needs a database that takes more than one.
if (Bun.env.TEST_DATABASE_URL) {
  let pebble: Pebble;
  let recorder: Awaited<ReturnType<typeof startRecorder>>;
  let server: ReturnType<typeof startServer>;
  let organization: TestOrganization;
  let issuerId: string;

  beforeAll(async () => {
    pebble = await startPebble({ httpPort: Number(new URL(world.url).port), rejectedNonces: 10 });
    recorder = await startRecorder(pebble);
    server = startServer(config, world.database);
    organization = await newOrganization();
    await sql`update certificate_requests set due_at = null where due_at is not null`; // of other tests
    const { directoryUrl, caBundlePem } = recorder;
    const body = { kind: "acme", name: "Pebble", config: { directoryUrl, caBundlePem, termsOfServiceAgreed: true } };
    issuerId = (await organization.admin("POST", "/issuers", { body, url: server.url })).body.id;
  });
  afterAll(async () => {
    await server.server.stop(true);
    await recorder.stop();
    await pebble.stop();
  });

  async function order() {
    const name = newName();
    const { body } = await organization.admin("POST", "/certificate-requests", {
      body: { issuerId, names: [name], key: { location: "server" } },
      url: server.url,
    });
    const request = async () => (await organization.member("GET", `/certificate-requests/${body.id}`)).body;
    /** Waits until it has ended; what waits for its time need not. */
    async function end() {
      while ((await request()).endedAt === null) {
        await sql`update certificate_requests set due_at = now() where id = ${body.id} and claimed_until is null and due_at is not null`;
        await sql`update issuers set due_at = now(), retry_at = null where id = ${issuerId}`;
        await Bun.sleep(50);
      }
    }
    return { name, id: body.id as string, request, end };
  }
  type Order = Awaited<ReturnType<typeof order>>;

  /** The CA made one order and issued one certificate, which is stored. */
  async function isIssuedOnce({ name, request }: Order, finalizedBefore: number) {
    expect(await request()).toMatchObject({ status: "issued", names: [name] });
    expect(recorder.ordersOf(name)).toHaveLength(1);
    expect(recorder.finalized().length - finalizedBefore).toBe(1);
  }

  describe("a process that is killed at each request that it signs", () => {
    test.each<[string, Ending]>([
      ["the CA never gets the request", "lost"],
      ["the CA answers it to nobody", "done"],
    ])("is taken over: no order is made twice, and none is lost: %s", async (_, ending) => {
      const env = { ALLOW_PRIVATE_TARGETS: "true" };
      let next = startJobProcess(JOBS, env);
      let at = 0;
      for (let isStopped = true; isStopped; ) {
        const victim = await next;
        next = startJobProcess(JOBS, env); // meanwhile, because it takes a second
        const finalizedBefore = recorder.finalized().length;
        const stopped = recorder.stopAt(++at, ending);
        const ordered = await order();
        victim.go();
        isStopped = await Promise.race([stopped.then(() => true), ordered.end().then(() => false)]);
        await victim.kill();
        recorder.goOn();
        await sql`update certificate_requests set claimed_until = null, due_at = now() where id = ${ordered.id} and claimed_until is not null`;
        if (isStopped) await runHere(JOBS, ordered.end, config);
        await isIssuedOnce(ordered, finalizedBefore);
      }
      await (await next).kill();
      expect(at).toBeGreaterThan(8);
    });
  });

  test("two processes at once order each certificate once", async () => {
    const orders = await Promise.all(Array.from({ length: 20 }, order));
    const finalizedBefore = recorder.finalized().length;
    const other = await startJobProcess(JOBS, { ALLOW_PRIVATE_TARGETS: "true" });
    other.go();
    await runHere(JOBS, () => Promise.all(orders.map(({ end }) => end())), config);
    await other.kill();
    for (const { name, request } of orders) {
      expect(await request()).toMatchObject({ status: "issued" });
      expect(recorder.ordersOf(name)).toHaveLength(1);
    }
    expect(recorder.finalized().length - finalizedBefore).toBe(orders.length);
  });
}
