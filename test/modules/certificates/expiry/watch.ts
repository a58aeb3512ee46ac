import { watchExpiry } from "#modules/certificates/expiry/services/watch";
import { dispatch } from "../../../support/server/dispatching";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const DAY = 86_400_000;

/** One look at all certificates, so many days from now, and one turn of the job that dispatches events. */
export async function watch(days = 0, now = Date.now()) {
  const at = new Date(now + days * DAY);
  await watchExpiry({ sql: world.sql, clock: () => at }, new AbortController().signal);
  await dispatch(at);
}

/** An organization with an admin and a member, and the notices of each of them, the first first. */
export async function newWatched() {
  const organization = await newOrganization();
  const [admin, member] = await Promise.all([organization.join("ORG_ADMIN"), organization.join("ORG_MEMBER")]);
  const noticesOf = async (user: typeof admin) => {
    const { body } = await user.call("GET", "/users/me/notifications/inbox?limit=100");
    return body.items.toReversed();
  };
  return {
    organization,
    admin,
    member,
    noticesOf,
    daysOfNotices: async () => (await noticesOf(admin)).map((each: { data: { items: { days: number }[] } }) => each.data.items[0]?.days),
  };
}
