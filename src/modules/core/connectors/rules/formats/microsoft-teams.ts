import type { Values } from "#catalogue/fields";
import { toLine } from "#mail/address";
import type { Call } from "#outbound/call";
import { headline, linesOf, type Message, type Severity, shorten } from "../message";

const COLORS: Record<Severity, string> = { info: "accent", warning: "warning", critical: "attention" };
const MAX_LINE = 300;

/** Returns the request to a workflow of Teams. */
export const teamsCall = ({ webhookUrl, messageFormat }: Values, message: Message): Call => ({
  method: "POST",
  url: new URL(String(webhookUrl)),
  headers: { "content-type": "application/json", "user-agent": "certitude" },
  body: JSON.stringify(messageFormat === "text" ? { type: "message", text: toText(message) } : { type: "message", attachments: [toAttachment(message)] }),
});

const toAttachment = (message: Message) => ({
  contentType: "application/vnd.microsoft.card.adaptive",
  contentUrl: null,
  content: {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [
      toBlock(headline(message), { weight: "bolder", size: "medium", color: COLORS[message.severity] }),
      ...[message.message, ...linesOf(message).map((line) => `• ${line}`)].map((line) => toBlock(line)),
      toBlock(message.organization.name, { isSubtle: true }),
    ],
    ...(message.url && { actions: [{ type: "Action.OpenUrl", title: "Open in Certitude", url: message.url }] }),
  },
});

/** Text runs take no Markdown. {{DATE(…)}} and {{TIME(…)}} are filled in there too, hence the cut between two braces. */
const toBlock = (line: string, style: object = {}) => ({
  type: "RichTextBlock",
  inlines: shorten(toLine(line), MAX_LINE)
    .split(/(?<=\{)(?=\{)/)
    .map((text) => ({ type: "TextRun", text, ...style })),
});

/** Characters that HTML or Markdown could read as more than text become entities, which both show as the character. */
const toEntities = (line: string) => shorten(toLine(line), MAX_LINE).replace(/[^\p{L}\p{N}\s.,:;•…-]/gu, (character) => `&#${character.codePointAt(0)};`);

const toText = (message: Message) =>
  [headline(message), message.message, ...linesOf(message).map((line) => `• ${line}`), message.organization.name]
    .map(toEntities)
    .concat(message.url ? [message.url] : [])
    .join("<br>\n");
