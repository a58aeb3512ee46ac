import { expect, setDefaultTimeout } from "bun:test";
import { prepareJobs } from "#jobs/start";
import { newName } from "../support/issuance/acme";
import { type Pebble, startPebble } from "../support/issuance/pebble";
import { needing } from "../support/needing";
import { ENDINGS, killAtEachStep, type Piece, runHere } from "../support/server/crash";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { startServer, world } from "../support/server/world";

const { afterAll, beforeAll, describe, test } = needing("pebble");

setDefaultTimeout(900_000);

const { sql } = world;
const config = { ...world.config, allowPrivateTargets: true };
const jobs = ["tell-revocations"];
const tables = ["ca_revocations", "audit_tail", "notification_events"];

type Revoked = Piece & { certificateId: string };

// A process of its own needs a database that takes more than one.
if (Bun.env.TEST_DATABASE_URL) {
  let pebble: Pebble;
  let server: ReturnType<typeof startServer>;
  let organization: TestOrganization;
  let issuerId: string;

  beforeAll(async () => {
    await prepareJobs(world.deps);
    await sql`update ca_revocations set due_at = null where due_at is not null`; // of other tests
    pebble = await startPebble({ httpPort: Number(new URL(world.url).port) });
    server = startServer(config, world.database);
    organization = await newOrganization();
    const { directoryUrl, caBundlePem } = pebble;
    issuerId = (await post("/issuers", { kind: "acme", name: "Pebble", config: { directoryUrl, caBundlePem, termsOfServiceAgreed: true } })).id;
  });
  afterAll(async () => {
    await server.server.stop(true);
    await pebble.stop();
    await world.deps.queue.stop();
  });

  const post = async (path: string, body: object) => (await organization.admin("POST", path, { body, url: server.url })).body;

  /** A certificate of the CA, which is revoked here. */
  async function revoked(): Promise<Revoked> {
    const { id } = await post("/certificate-requests", { issuerId, names: [newName()], key: { location: "server" } });
    let certificateId: string | null = null;
    await runHere(
      ["issue-certificates"],
      async () => {
        while (certificateId === null) {
          await sql`update certificate_requests set due_at = now() where id = ${id} and claimed_until is null and due_at is not null`;
          await sql`update issuers set due_at = now(), retry_at = null where id = ${issuerId}`;
          certificateId = (await organization.member("GET", `/certificate-requests/${id}`)).body.certificateId;
          await Bun.sleep(20);
        }
      },
      config,
    );
    await post(`/certificates/${certificateId}/revoke`, { reason: "keyCompromise" });
    const isDone = async () => (await sql`select from ca_revocations where certificate_id = ${certificateId} and due_at is not null`).length === 0;
    return { certificateId: String(certificateId), isDone };
  }

  /** Its claim ends, as it does by itself two minutes later. */
  const endClaim = ({ certificateId }: Revoked) => sql`update ca_revocations set due_at = now() where certificate_id = ${certificateId} and due_at is not null`;

  /** The CA has revoked it, the trail says so once, and no member is troubled. */
  async function isNotifiedOnce({ certificateId }: Revoked) {
    const { serialNumber } = (await organization.member("GET", `/certificates/${certificateId}`)).body;
    expect(await pebble.statusOf(serialNumber)).toMatchObject({ Status: "Revoked", Reason: 1 });
    expect((await organization.member("GET", `/revocations?certificateId=${certificateId}`)).body.items).toMatchObject([{ state: "told", failure: null }]);
    expect(await sql`select from audit_events where target_id = ${certificateId} and action = 'certificate.revoked-at-ca'`).toHaveLength(1);
    expect(
      await sql`select from notification_events where subject_id = ${certificateId} and kind = 'certificate_revocation_failed' and not is_end`,
    ).toHaveLength(0);
  }

  describe("a process that is killed right before each of its writes, while it revokes at a CA", () => {
    test.each(ENDINGS)("is taken over, and the CA revokes the certificate: %s", async (_, endings) => {
      const plan = { jobs, tables, config, env: { ALLOW_PRIVATE_TARGETS: "true" }, make: revoked, afterKill: endClaim, verify: isNotifiedOnce };
      expect(await killAtEachStep(plan, endings)).toBeGreaterThanOrEqual(3);
    });
  });
}
