import { type Command, InvalidArgumentError } from "commander";
import { toAscii } from "#mail/address";
import { MailFailure } from "#mail/failure";
import { createMailTransport } from "#mail/transport";
import { CommandError } from "./command-error";
import { readConfigOrExit } from "./environment";

export function addMail(program: Command) {
  const mail = program.command("mail").description("Try the mail server of SMTP_URL.");
  mail
    .command("test")
    .exitOverride()
    .showHelpAfterError()
    .description("Send one mail with the server's configuration, and say what failed.")
    .requiredOption("--to <address>", "who gets it", readRecipient)
    .addHelpText("after", "\nIt may run beside a server. Exit code 1 when the mail server did not take the mail, 2 without SMTP_URL and MAIL_FROM.")
    .action(test);
}

async function test({ to }: { to: string }) {
  const { mail: settings } = readConfigOrExit();
  if (!settings) throw new CommandError("There is no mail server to try: set SMTP_URL, MAIL_FROM and PUBLIC_URL.", 2);
  const transport = createMailTransport(settings);
  const body = ["This mail was sent by certitude mail test.", "The mail server takes mails, so invitations reach those who are invited."];
  try {
    const queued = { id: Bun.randomUUIDv7(), queuedAt: new Date(), mail: { to: { name: "", address: to }, subject: "A test of Certitude's mail", body } };
    const messageId = await transport.send(queued);
    console.info(`${transport.at} took the mail to ${to}: ${messageId}`);
  } catch (error) {
    throw error instanceof MailFailure ? new CommandError(error.message) : error;
  } finally {
    transport.close();
  }
}

function readRecipient(value: string) {
  const address = toAscii(value.trim());
  if (!address) throw new InvalidArgumentError("It must be an e-mail address.");
  return address;
}
