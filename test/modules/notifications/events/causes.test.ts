import { describe, expect, test } from "bun:test";
import { KIND_NAMES, kindOf } from "#modules/notifications/events/rules/kinds";
import { call } from "../../../support/server/call";
import { dispatch } from "../../../support/server/dispatching";
import { withJobs } from "../../../support/server/knowledge";
import { CAUSES, newSetting } from "./causes";

withJobs();

/** What concerns one person: the owner of a control or an API token, the author of a rollout, who uploaded a document. */
const PERSONAL = /^(rollout|control|document|credential)_/;

test("every kind has a cause", () => {
  expect(Object.keys(CAUSES).toSorted()).toEqual(KIND_NAMES.toSorted());
});

describe.each(KIND_NAMES)("an event of the kind %s", (kind) => {
  test("is a notice when it happens, to whom it concerns, with a link that answers; what it begins ends", async () => {
    const setting = await newSetting();
    const { organization, author, other } = setting;
    const noticesOf = async (user: Pick<typeof other, "call">) => {
      await dispatch();
      const { body } = await user.call("GET", "/users/me/notifications/inbox?limit=100");
      return body.items.filter((each: { kind: string }) => each.kind === kind);
    };

    const end = await CAUSES[kind](setting);
    const [notice, ...more] = await noticesOf(author);
    expect(more).toEqual([]);
    expect(notice).toMatchObject({ kind, state: kindOf(kind).begins ? "open" : null, data: { count: 1 } });
    expect(`${notice.title} ${notice.message}`).not.toMatch(/undefined|null|NaN|\[object/);
    expect(await call("GET", notice.link, { headers: organization.headers("ORG_ADMIN") })).toMatchObject({ status: 200 });
    expect(await noticesOf(other)).toHaveLength(PERSONAL.test(kind) ? 0 : 1);

    expect(end !== undefined).toBe(kindOf(kind).begins !== undefined);
    await end?.();
    expect(await noticesOf(author)).toMatchObject([{ id: notice.id, ...(end && { state: "cleared" }) }]);
  });
});
