import type { MailServer } from "./settings";

/** The reason why a mail did not go out, as a sentence that holds neither the password nor a link nor the address of the mail. */
export class MailFailure extends Error {
  constructor(
    reason: string,
    /** `mail`: refused for good; `attempt`: this mail is not taken yet; `server`: the server takes no mail for now. */
    readonly concerns: "mail" | "attempt" | "server",
  ) {
    super(reason);
  }
}

/** A failure as nodemailer describes it: `command` is what the server answered, `originalCode` the code of the system or of TLS. */
type Failure = Error & {
  code?: string;
  syscall?: string;
  command?: string;
  originalCode?: string;
  timeoutType?: string;
  response?: string;
  responseCode?: number;
};

const MAX_REPLY = 300;
/** Replies about the session, whatever command they answer: the mail itself was not judged. */
const ABOUT_SESSION = [503, 530, 534, 535, 538];

/** Returns the failure of an attempt in plain words; `hidden` is what a reply may quote and no reason may hold. */
export function explain(error: unknown, { host, port }: Pick<MailServer, "host" | "port">, hidden: readonly string[] = []): MailFailure {
  const failure = error as Failure;
  const at = `${host}:${port}`;
  const reply = quote(failure.response ?? failure.message, hidden);
  if (failure.code === "EDNS") return new MailFailure(`The name ${host} is not found.`, "server");
  return isAboutMail(failure) ? explainReply(failure, at, reply) : new MailFailure(explainConnection(failure, at, reply), "server");
}

/** The server answered a command of the mail, or nodemailer did: it sends no message that is larger than the server takes. */
const isAboutMail = ({ code, command }: Failure) => (code === "EENVELOPE" && command !== "MAIL FROM") || code === "EMESSAGE";

function explainReply({ code, command, responseCode }: Failure, at: string, reply: string) {
  const isFinal = responseCode === undefined ? code === "EMESSAGE" : responseCode >= 500 && !ABOUT_SESSION.includes(responseCode);
  const what = command === "RCPT TO" ? "recipient" : "message";
  return new MailFailure(`${at} ${isFinal ? "refuses" : "does not take yet"} the ${what}: ${reply}`, isFinal ? "mail" : "attempt");
}

function explainConnection(failure: Failure, at: string, reply: string) {
  const { code, command, responseCode } = failure;
  if (code === "ETIMEDOUT") return TIMEOUTS[failure.timeoutType ?? ""]?.(at) ?? `${at} does not answer in time.`;
  if (failure.syscall === "connect") return failure.originalCode === "ECONNREFUSED" ? `${at} refuses the connection.` : `${at} cannot be reached: ${reply}.`;
  if (code === "EAUTH") return `${at} refuses the user and the password of SMTP_URL (${responseCode ?? "no answer"}).`;
  if (code === "EENVELOPE") return `${at} refuses the sender of MAIL_FROM: ${reply}`;
  if (command === "STARTTLS" && responseCode)
    return `${at} offers no TLS (STARTTLS), and nothing is sent to it without. ?requireTLS=false in SMTP_URL allows it.`;
  if (code === "ETLS" || isOfTls(failure)) return `TLS with ${at} failed: ${reply}.`;
  if (!command) return `${at} closed the connection before it took a mail.`;
  return `The connection to ${at} broke: ${reply}.`;
}

const TIMEOUTS: Record<string, (at: string) => string> = {
  CONNECTION_TIMEOUT: (at) => `${at} cannot be reached: no connection in time.`,
  GREETING_TIMEOUT: (at) => `${at} takes the connection, but sends no greeting. A server that expects TLS at once needs smtps://.`,
  SOCKET_TIMEOUT: (at) => `${at} has stopped answering.`,
};

/** A socket's own failures have the code of a call of the system, such as ECONNRESET. */
const isOfTls = ({ code, originalCode = "" }: Failure) => code === "ESOCKET" && (originalCode.includes("_") || originalCode === "");

/** A reply as one line, without what it may quote. */
function quote(reply: string, hidden: readonly string[]) {
  let line = reply;
  for (const each of hidden) if (each !== "") line = line.replaceAll(each, "…");
  const words = line.split(/\s/).filter((word) => word !== "");
  return words
    .map((word) => (word.includes("://") ? "…" : word))
    .join(" ")
    .slice(0, MAX_REPLY);
}
