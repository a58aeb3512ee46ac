import { type Address, toAscii, toLine } from "./address";
import { MailFailure } from "./failure";

/** A link of a mail: a button where the reader shows HTML, an address on a line of its own where it shows text. */
export type Link = { label: string; url: string };
/** What a mail says: a subject, and paragraphs of text, or links. All of it may hold text that others chose. */
export type Mail = {
  to: Address;
  subject: string;
  body: (string | Link)[];
  /** Where the addressee ends mails of this kind, for those that come again. */
  unsubscribeUrl?: string;
};
/** A mail in the queue. */
export type QueuedMail = { id: string; queuedAt: Date; mail: Mail };

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");

/** Returns the message as nodemailer takes it. The same mail has the same `Message-ID` and `Date` at each attempt, so that a double is known as one. */
export function toMessage({ id, queuedAt, mail }: QueuedMail, sender: Address) {
  const to = toAscii(mail.to.address);
  if (!to) throw new MailFailure("The address is none that mail can be sent to.", "mail");
  return {
    from: sender,
    to: { name: toLine(mail.to.name), address: to },
    envelope: { from: sender.address, to: [to] },
    subject: toLine(mail.subject),
    text: toText(mail),
    html: toHtml(mail),
    messageId: `<${id}@${sender.address.slice(sender.address.lastIndexOf("@") + 1)}>`,
    date: queuedAt,
    headers: { "Auto-Submitted": "auto-generated", ...(mail.unsubscribeUrl && { "List-Unsubscribe": `<${mail.unsubscribeUrl}>` }) },
    xMailer: false as const,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

const toText = ({ body }: Mail) => `${body.map((part) => (typeof part === "string" ? toLine(part) : `${toLine(part.label)}:\n${part.url}`)).join("\n\n")}\n`;

const STYLE = {
  page: "margin:0;padding:24px;background:#f3f4f6;color:#1f2937;font:16px/1.5 -apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif",
  sheet: "max-width:560px;margin:0 auto;padding:24px 32px;background:#ffffff;border-radius:8px",
  button: "display:inline-block;padding:10px 20px;background:#1d4ed8;color:#ffffff;border-radius:6px;text-decoration:none",
};

const toHtml = ({ subject, body }: Mail) => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(toLine(subject))}</title></head>
<body style="${STYLE.page}">
<div style="${STYLE.sheet}">
${body.map((part) => `<p>${typeof part === "string" ? escapeHtml(toLine(part)) : toButton(part)}</p>`).join("\n")}
</div>
</body>
</html>
`;

const toButton = ({ label, url }: Link) => `<a href="${escapeHtml(url)}" style="${STYLE.button}">${escapeHtml(toLine(label))}</a>`;
