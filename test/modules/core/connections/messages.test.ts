import { afterAll, describe, expect, test } from "bun:test";
import { connect, tryOut } from "../../../support/server/connections";
import { newOrganization } from "../../../support/server/people";
import { startTarget } from "../../../support/server/target";
import { world } from "../../../support/server/world";

const organization = await newOrganization();
const target = startTarget((request) => new Response(null, { status: request.url.endsWith("/gone") ? 404 : 202 }));
afterAll(() => target.stop());

const CHANNELS: [string, (url: string) => { config?: object; secrets: object }][] = [
  ["webhook", (url) => ({ config: { url }, secrets: { signingSecret: "s3cr3t" } })],
  ["slack", (webhookUrl) => ({ config: { mode: "incoming_webhook" }, secrets: { webhookUrl } })],
  ["microsoft_teams", (webhookUrl) => ({ secrets: { webhookUrl } })],
];

describe("POST …/core/connections/{connectionId}/test of a connection that only a message can check", () => {
  test.each(CHANNELS)(
    "%s: 200 ok once it has taken a message that is marked as a test; failed where there is nothing, or it may not be asked",
    async (kind, given) => {
      const tryAt = async (path: string, server?: string) => {
        const { config = {}, secrets } = given(`${target.url}${path}`);
        return (await tryOut(organization, await connect(organization, kind, config, secrets), server)).body;
      };
      target.requests.splice(0);
      expect(await tryAt("/hook")).toEqual({ outcome: "ok", message: "It took a test message." });
      expect(target.requests).toMatchObject([{ method: "POST", path: "/hook" }]);
      expect(target.requests[0]?.body).toContain("Test: ");
      expect(target.requests[0]?.headers["webhook-signature"] !== undefined).toBe(kind === "webhook");
      expect(await tryAt("/gone")).toEqual({ outcome: "failed", message: "It answered 404: there is nothing at this address." });
      expect(await tryAt("/hook", world.url)).toEqual({ outcome: "failed", message: "Its host name leads to a private, local or reserved address." });
      expect(target.requests).toHaveLength(2);
    },
  );
});
