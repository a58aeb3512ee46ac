import { type Address, toAscii, toLine } from "./address";
import { MailFailure } from "./failure";

/** A link of a mail: a button where the reader shows HTML, an address on a line of its own where it shows text. */
export type Link = { label: string; url: string };
/** Lines under a heading; each may lead somewhere. */
export type List = { heading: string; lines: { text: string; url?: string }[] };
/** The content of a mail: a subject, and paragraphs of text, links or lists. All of it may hold text that others chose. */
export type Mail = {
  to: Address;
  subject: string;
  body: (string | Link | List)[];
  /** The link by which the addressee ends mails of this kind, for those that come again. */
  unsubscribeUrl?: string;
  /** The subject matter, as the local part of a Message-ID: mails about the same are one thread. */
  thread?: string;
};
/** A mail in the queue. */
export type QueuedMail = { id: string; queuedAt: Date; mail: Mail };

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
const UNSUBSCRIBE = "Get no more mails of this kind";

/**
 * Returns the message as nodemailer takes it. The same mail has the same `Message-ID` and `Date` at each attempt, so that a double is known
 * as one.
 */
export function toMessage({ id, queuedAt, mail }: QueuedMail, sender: Address) {
  const to = toAscii(mail.to.address);
  if (!to) throw new MailFailure("The address is none that mail can be sent to.", "mail");
  const domain = sender.address.slice(sender.address.lastIndexOf("@") + 1);
  const thread = mail.thread && `<${mail.thread}@${domain}>`;
  return {
    from: sender,
    to: { name: toLine(mail.to.name), address: to },
    envelope: { from: sender.address, to: [to] },
    subject: toLine(mail.subject),
    text: toText(mail),
    html: toHtml(mail),
    messageId: `<${id}@${domain}>`,
    ...(thread && { inReplyTo: thread, references: thread }), // the message at the head of a thread need not exist
    date: queuedAt,
    headers: { "Auto-Submitted": "auto-generated", ...unsubscribeHeaders(mail) },
    xMailer: false as const,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** RFC 8058: a mail reader may unsubscribe by a POST of its own, where the address is an https one. */
const unsubscribeHeaders = ({ unsubscribeUrl: url }: Mail) =>
  url && { "List-Unsubscribe": `<${url}>`, ...(url.startsWith("https:") && { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }) };

const toText = ({ body, unsubscribeUrl }: Mail) =>
  `${[...body.map(partToText), ...(unsubscribeUrl ? [`--\n${UNSUBSCRIBE}:\n${unsubscribeUrl}`] : [])].join("\n\n")}\n`;

function partToText(part: string | Link | List) {
  if (typeof part === "string") return toLine(part);
  if ("label" in part) return `${toLine(part.label)}:\n${part.url}`;
  const lines = part.lines.map(({ text, url }) => `- ${toLine(text)}${url ? `\n  ${url}` : ""}`);
  return [`${toLine(part.heading)}:`, ...lines].join("\n");
}

const STYLE = {
  page: "margin:0;padding:24px;background:#f3f4f6;color:#1f2937;font:16px/1.5 -apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif",
  sheet: "max-width:560px;margin:0 auto;padding:24px 32px;background:#ffffff;border-radius:8px",
  button: "display:inline-block;padding:10px 20px;background:#1d4ed8;color:#ffffff;border-radius:6px;text-decoration:none",
  heading: "margin:24px 0 8px;font-size:16px",
  list: "margin:0;padding-left:20px",
  link: "color:#1d4ed8",
  foot: "margin-top:24px;padding-top:16px;border-top:1px solid #e5e7eb;font-size:13px",
};

const toHtml = ({ subject, body, unsubscribeUrl }: Mail) => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(toLine(subject))}</title></head>
<body style="${STYLE.page}">
<div style="${STYLE.sheet}">
${[...body.map(partToHtml), ...(unsubscribeUrl ? [`<p style="${STYLE.foot}">${toAnchor(UNSUBSCRIBE, unsubscribeUrl, STYLE.link)}</p>`] : [])].join("\n")}
</div>
</body>
</html>
`;

function partToHtml(part: string | Link | List) {
  if (typeof part === "string") return `<p>${escapeHtml(toLine(part))}</p>`;
  if ("label" in part) return `<p>${toAnchor(part.label, part.url, STYLE.button)}</p>`;
  const lines = part.lines.map(({ text, url }) => `<li>${url ? toAnchor(text, url, STYLE.link) : escapeHtml(toLine(text))}</li>`);
  return `<h2 style="${STYLE.heading}">${escapeHtml(toLine(part.heading))}</h2>\n<ul style="${STYLE.list}">\n${lines.join("\n")}\n</ul>`;
}

const toAnchor = (label: string, url: string, style: string) => `<a href="${escapeHtml(url)}" style="${style}">${escapeHtml(toLine(label))}</a>`;

/** Every address that a mail leads to. */
export const urlsOf = ({ body, unsubscribeUrl }: Mail) => [
  ...body.flatMap((part) => (typeof part === "string" ? [] : "label" in part ? [part.url] : part.lines.flatMap(({ url }) => url ?? []))),
  ...(unsubscribeUrl ? [unsubscribeUrl] : []),
];
