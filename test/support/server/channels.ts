import type { Reach } from "#modules/core/connectors/services/http";
import { delivering } from "#modules/notifications/channels/services/deliver";
import { send } from "#outbound/http-client";
import { connect, privateWorld } from "./connections";
import type { TestOrganization } from "./people";
import { DELIVERING, runShared } from "./shared-jobs";
import { world } from "./world";

const ROUTES = "/notification-routes";

/** One turn of the job that delivers to channels, with the servers of others at `elsewhere`, where that is given. */
export const deliver = (elsewhere?: string) =>
  runShared(DELIVERING, privateWorld.deps, undefined, (name) =>
    delivering(privateWorld.deps, { isFailing: name === "deliver-to-failing-channels", reach: to(elsewhere) }),
  );

const to =
  (elsewhere?: string): Reach =>
  (call, limits) => {
    const isOurs = ["localhost", "127.0.0.1"].includes(call.url.hostname);
    return send(isOurs || !elsewhere ? call : { ...call, url: new URL(call.url.pathname, elsewhere) }, limits);
  };

/** The columns round to milliseconds, and a moment that is rounded up is not there yet. */
const aMomentAgo = () => world.sql`now() - interval '1 second'`;

/** Makes a connection and a route to it. Returns their ids, and what to ask of them. */
export async function openChannel(organization: TestOrganization, kind: string, config: object, secrets: object = {}, route: object = {}) {
  const connectionId = await connect(organization, kind, config, secrets);
  const answer = await organization.admin("POST", ROUTES, { body: { name: "x", target: { connectionId }, ...route } });
  if (answer.status !== 201) throw new Error(`the route was answered ${answer.status}: ${answer.text}`);
  const path = `${ROUTES}/${answer.body.id}`;
  return {
    connectionId,
    routeId: answer.body.id as string,
    path,
    deliveries: async (query = "") => (await organization.admin("GET", `${path}/deliveries${query}`)).body.items,
    tryOut: async () => (await organization.admin("POST", `${path}/test`, { url: privateWorld.url })).body,
    redeliver: (id: string) => organization.admin("POST", `${path}/deliveries/${id}/redeliver`),
    /** How the channel fares, as the database has it. */
    async state() {
      const [row] = await world.sql`
        select failures, failing_since is not null as "isFailing", told_at is not null as "isRecorded", extract(epoch from due_at - now())::float8 as wait, claimed_until is not null as "isClaimed"
        from notification_channels where organization_id = ${organization.id} and connection_id = ${connectionId}`;
      return row;
    },
    /** Lets everything that waits be tried at once. */
    async hurry() {
      await world.sql`update notification_deliveries set next_attempt_at = ${aMomentAgo()} where organization_id = ${organization.id} and state = 'pending'`;
      await world.sql`update notification_channels set due_at = ${aMomentAgo()} where organization_id = ${organization.id} and connection_id = ${connectionId}`;
    },
    /** Lets time pass for what waits. */
    async age(hours: number) {
      await world.sql`
        update notification_deliveries set queued_at = queued_at - ${hours} * interval '1 hour', tried_at = tried_at - ${hours} * interval '1 hour', next_attempt_at = ${aMomentAgo()}
        where organization_id = ${organization.id} and connection_id = ${connectionId} and state = 'pending'`;
      await world.sql`
        update notification_channels set failing_since = failing_since - ${hours} * interval '1 hour', due_at = ${aMomentAgo()} where organization_id = ${organization.id} and connection_id = ${connectionId}`;
    },
  };
}
