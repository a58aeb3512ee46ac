import { codeOf, describeFailure } from "#outbound/failure";
import { type Failed, fail } from "../outcome";

/** A failure as nodemailer describes it: `command` is what the server answered, with `responseCode`. */
type SmtpFailure = { code?: string; command?: string; responseCode?: number; originalCode?: string };

/** Replies about the session, whatever command they answer: the mail itself was not judged. */
const ABOUT_SESSION = [503, 530, 534, 535, 538];

/** Returns what a mail server's failure means. Of its answer the reason holds the code alone. */
export function explainSmtp(error: unknown): Failed {
  const { code, command, responseCode: status, originalCode } = error as SmtpFailure;
  if (status !== undefined) return { ...explainReply(command, code, status), status };
  if (code === "ETIMEDOUT") return fail("It did not answer in time.", false);
  if (code === "ETLS") return fail("TLS with it failed.", false);
  if (code === "EMESSAGE") return fail("The message is larger than the mail server takes.", true);
  if (code === "EENVELOPE") return fail("The mail server takes no such recipient.", true);
  return fail(describeFailure(originalCode === undefined ? error : { code: originalCode }), codeOf(error) === "PRIVATE_TARGET");
}

function explainReply(command: string | undefined, code: string | undefined, status: number) {
  if (code === "EAUTH") return fail(`The mail server refuses the user name and the password (${status}).`, false);
  if (command === "STARTTLS") return fail("The mail server offers no TLS (STARTTLS), and nothing is sent to it without.", false);
  const isFinal = status >= 500 && !ABOUT_SESSION.includes(status);
  const what = WHAT[command ?? ""] ?? "message";
  return fail(isFinal ? `The mail server refuses the ${what} (${status}).` : `The mail server does not take the ${what} yet (${status}).`, isFinal);
}

const WHAT: Record<string, string> = { "RCPT TO": "recipient", "MAIL FROM": "sender" };
