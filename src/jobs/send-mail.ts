import type { Deps } from "#deps";
import { MailFailure } from "#mail/failure";
import { findMail, noteFailure, openMail, removeMail, SEND_MAIL, type StoredMail } from "#mail/outbox";
import { TryAgain } from "#modules/platform/jobs/rules";
import { type Outcome, rulesFor } from "./mail-causes";
import type { QueuedJob, Work } from "./queue";

type Sending = { mailId: string };
type Services = Pick<Deps, "sql" | "clock" | "config" | "log" | "mail">;

/** Twice as many as there are connections, so that each always has a mail to send. */
export const MAILS_AT_ONCE = 8;
/** The time between two log lines that the server takes no mail. */
const QUIET_MS = 60_000;

export const mailFailed: QueuedJob = { name: `${SEND_MAIL}-failed`, options: { retryLimit: 10, retryDelay: 5, retryBackoff: true, retryDelayMax: 600 } };
/** Tried again after some 5, 10, 20 … seconds, at last every hour: for a day, which is longer than any greylist. */
export const mailing: QueuedJob = {
  name: SEND_MAIL,
  atOnce: MAILS_AT_ONCE,
  options: {
    deadLetter: mailFailed.name,
    expireInSeconds: 900,
    heartbeatSeconds: 15,
    retryLimit: 33,
    retryDelay: 5,
    retryBackoff: true,
    retryDelayMax: 3_600,
  },
};

const NO_SERVER = "There is no mail server: SMTP_URL is not set any more.";

/**
 * Sends a mail and saves the outcome. A killed attempt is made again, with the same Message-ID; a mail that the server has taken is not
 * sent twice by this process.
 */
export function sendMail({ sql, clock, config, log, mail: transport }: Services): Work<Sending> {
  const taken = new Set<string>();
  const report = createMailLog(log);

  async function send(stored: StoredMail) {
    if (taken.has(stored.id)) return;
    if (!transport) throw new MailFailure(NO_SERVER, "server");
    if (stored.isExpired) throw new MailFailure(`It expired before it could be sent. ${stored.lastFailure ?? ""}`.trim(), "mail");
    await transport.send({ ...stored, mail: openMail(config.keyring, stored) });
    taken.add(stored.id);
  }

  /** Removes a mail that is of no use any more. Returns whether it did. */
  async function withdraw(stored: StoredMail) {
    const { isWanted } = rulesFor(stored.cause);
    if (!isWanted || taken.has(stored.id) || (await isWanted(sql, stored.cause, stored.id))) return false;
    await conclude({ sql, clock }, stored, { state: "withdrawn" });
    log.info({ mailId: stored.id, ...stored.cause }, "mail withdrawn");
    return true;
  }

  return async ({ mailId }, signal) => {
    const stored = await findMail(sql, mailId);
    if (!stored) return; // withdrawn, or sent by an attempt that was cut off
    signal.throwIfAborted();
    if (await withdraw(stored)) return;
    try {
      await send(stored);
    } catch (error) {
      if (!(error instanceof MailFailure)) throw error;
      const isFinal = error.concerns === "mail";
      await conclude({ sql, clock }, stored, { state: isFinal ? "failed" : "pending", reason: error.message });
      report.failed(stored, error);
      if (isFinal) return;
      throw new TryAgain(error.message);
    }
    await conclude({ sql, clock }, stored, { state: "sent" });
    taken.delete(mailId);
    report.sent(stored);
  };
}

/** After the last attempt, also that of a server which died each time. */
export const giveUpMail =
  ({ sql, clock, log }: Pick<Services, "sql" | "clock" | "log">): Work<Sending> =>
  async ({ mailId }) => {
    const stored = await findMail(sql, mailId);
    if (!stored) return;
    const reason = `It could not be sent within a day. ${stored.lastFailure ?? ""}`.trim();
    await conclude({ sql, clock }, stored, { state: "failed", reason });
    log.warn({ mailId, ...stored.cause, reason }, "mail given up");
  };

/** Saves an outcome for the cause of a mail, then for the mail: the order in which a mail is withdrawn too. */
const conclude = ({ sql, ...services }: Pick<Services, "sql" | "clock">, { id, cause }: StoredMail, outcome: Outcome) =>
  sql.begin(async (tx) => {
    await rulesFor(cause).conclude(tx, cause, id, outcome, services);
    await (outcome.state === "pending" ? noteFailure(tx, id, outcome.reason) : removeMail(tx, id));
  });

/** Logs whether the mail server takes mail. */
export async function reportMailServer({ mail, log }: Pick<Services, "mail" | "log">) {
  if (!mail) return;
  try {
    await mail.verify();
    log.info({ server: mail.at }, "mail server answers");
  } catch (error) {
    log.warn({ reason: (error as Error).message }, "mail server cannot be used; mails wait, and are tried again for a day");
  }
}

/** Returns what logs outcomes: each mail that waits, but a server that takes none at all once a minute, however many mails there are. */
function createMailLog(log: Services["log"]) {
  let isAway = false;
  let quietUntil = 0;
  return {
    sent({ id, cause }: StoredMail) {
      if (isAway) log.info("mail server takes mail again");
      isAway = false;
      quietUntil = 0;
      log.info({ mailId: id, ...cause }, "mail sent");
    },
    failed({ id, cause }: StoredMail, { concerns, message }: MailFailure) {
      if (concerns === "mail") return log.warn({ mailId: id, ...cause, reason: message }, "mail given up");
      if (concerns === "attempt") return log.warn({ mailId: id, ...cause, reason: message }, "mail not taken yet, tried again later");
      isAway = true;
      if (performance.now() < quietUntil) return;
      quietUntil = performance.now() + QUIET_MS;
      log.warn({ reason: message }, "mail server cannot be used; mails wait, and are tried again for a day");
    },
  };
}
