import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { prepareJobs } from "#jobs/start";
import { ENDINGS, killAtEachStep, type Piece } from "../../../support/server/crash";
import { desired, type TestAgent } from "../../../support/server/fleet";
import { world } from "../../../support/server/world";
import { work } from "../requests/requests";
import { deploy, renew, withRenewal } from "./renewals";

setDefaultTimeout(900_000);

type Setting = Awaited<ReturnType<typeof withRenewal>>;
type Renewing = Piece & { setting: Setting; agent: TestAgent };
const tables = ["renewals", "certificate_requests", "certificate_request_steps", "rollouts", "rollout_steps", "assignments", "audit_tail"];
const jobs = ["renew-certificates"];

/** A certificate on a host, whose time has come. */
async function dueNow(isDone: (setting: Setting) => Promise<boolean>): Promise<Renewing> {
  await world.sql`update renewals set look_at = null`;
  const setting = await withRenewal();
  const agent = await deploy(setting.organization, setting.certificateId);
  await world.sql`update renewals set renew_at = now(), look_at = now() where organization_id = ${setting.organization.id}`;
  return { setting, agent, isDone: () => isDone(setting) };
}

const isRequested = async ({ requests, read }: Setting) => (await requests()).length > 0 && (await read()).state === "ordered";
const isRenewed = async ({ read }: Setting) => (await read()).state === "renewed";

// A process of its own needs a database that takes more than one.
if (Bun.env.TEST_DATABASE_URL)
  describe("a process that is killed right before each of its writes", () => {
    beforeAll(() => prepareJobs(world.deps));

    test.each(ENDINGS)("leaves a renewal that is ordered once: %s", async (_, endings) => {
      const verify = async ({ setting }: Renewing) => {
        const [request, ...more] = await setting.requests();
        expect(more).toEqual([]);
        expect(await setting.read()).toMatchObject({ state: "ordered", requestId: request.id });
        const { items } = (await setting.organization.admin("GET", "/audit-events?action=certificate-request.created&limit=100")).body;
        expect(items.filter(({ targetId }: { targetId: string }) => targetId === request.id)).toHaveLength(1);
      };
      expect(await killAtEachStep({ jobs, tables, make: () => dueNow(isRequested), verify }, endings)).toBeGreaterThan(3);
    });

    test.each(ENDINGS)("leaves what was issued to come to its host by one rotation: %s", async (_, endings) => {
      const make = async () => {
        const made = await dueNow(isRenewed);
        await renew(made.setting.organization);
        await work();
        return made;
      };
      const verify = async ({ setting, agent }: Renewing) => {
        const [request] = await setting.requests();
        expect(await setting.read()).toMatchObject({ state: "renewed", successorId: request.certificateId });
        expect((await desired(agent)).map(({ certificateId }) => certificateId)).toEqual([request.certificateId]);
        expect(await world.sql`select from rollouts where organization_id = ${setting.organization.id}`).toHaveLength(1);
        expect(await setting.list()).toMatchObject([{ certificateId: request.certificateId }]);
      };
      const afterKill = () => world.sql`update renewals set look_at = now() where state = 'issued'`;
      expect(await killAtEachStep({ jobs, tables, make, verify, afterKill }, endings)).toBeGreaterThan(6);
    });
  });
