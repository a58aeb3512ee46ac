import type { Pool, Sql } from "#db/connect";
import type { Deps } from "#deps";
import type { Cause } from "#mail/outbox";
import type { NoticeKind } from "#modules/notifications/events/rules/kinds";
import { forgetDigest, isDigestWanted, restoreDigest } from "#modules/notifications/mail/queries/digests";
import { wantsNoticeMail } from "#modules/notifications/mail/queries/recipients";
import { postponeDigest } from "#modules/notifications/mail/services/digests";
import { type MailOutcome, noteInvitationMail } from "#modules/people/members/queries/invitations";

/** The outcome of a mail; `withdrawn` where it was of no use any more. */
export type Outcome = MailOutcome | { state: "withdrawn" };

type Services = Pick<Deps, "clock">;
type Rules<Of> = {
  /** Asked before each attempt. Without it, whatever makes the mail useless deletes its row. */
  isWanted?: (sql: Pool, cause: Of, mailId: string) => Promise<boolean>;
  /** Saves the outcome for the cause, in the transaction that ends the mail. */
  conclude: (tx: Sql, cause: Of, mailId: string, outcome: Outcome, services: Services) => Promise<unknown>;
};

const RULES: { [Kind in Cause["kind"]]: Rules<Extract<Cause, { kind: Kind }>> } = {
  invitation: {
    conclude: async (tx, cause, mailId, outcome) => outcome.state !== "withdrawn" && noteInvitationMail(tx, cause, mailId, outcome),
  },
  // The inbox has the notice, whatever becomes of its mail.
  notice: {
    isWanted: (sql, { organizationId, userId, noticeKind }) => wantsNoticeMail(sql, organizationId, userId, noticeKind as NoticeKind),
    conclude: async () => {},
  },
  digest: {
    isWanted: (sql, _, mailId) => isDigestWanted(sql, mailId),
    async conclude(tx, { userId }, mailId, { state }, services) {
      if (state === "sent") await forgetDigest(tx, mailId);
      if (state === "failed") await postponeDigest(tx, services, userId, mailId);
      if (state === "withdrawn") await restoreDigest(tx, userId, mailId, services.clock()); // made once more at once, without what is not wanted
    },
  },
};

/** Returns the rules for mails of this cause. */
export const rulesFor = (cause: Cause) => RULES[cause.kind] as Rules<Cause>;
