import type { Values } from "#catalogue/fields";
import { toLine } from "#mail/address";
import type { Call } from "#outbound/call";
import { headline, linesOf, type Severity, shorten, type Told } from "../told";

const COLORS: Record<Severity, string> = { info: "accent", warning: "warning", critical: "attention" };
const MAX_LINE = 300;

/** Returns the request to a workflow of Teams. */
export const teamsCall = ({ webhookUrl, messageFormat }: Values, told: Told): Call => ({
  method: "POST",
  url: new URL(String(webhookUrl)),
  headers: { "content-type": "application/json", "user-agent": "certitude" },
  body: JSON.stringify(messageFormat === "text" ? { type: "message", text: toText(told) } : { type: "message", attachments: [toAttachment(told)] }),
});

const toAttachment = (told: Told) => ({
  contentType: "application/vnd.microsoft.card.adaptive",
  contentUrl: null,
  content: {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [
      toBlock(headline(told), { weight: "bolder", size: "medium", color: COLORS[told.severity] }),
      ...[told.message, ...linesOf(told).map((line) => `• ${line}`)].map((line) => toBlock(line)),
      toBlock(told.organization.name, { isSubtle: true }),
    ],
    ...(told.url && { actions: [{ type: "Action.OpenUrl", title: "Open in Certitude", url: told.url }] }),
  },
});

/** Text runs take no Markdown. {{DATE(…)}} and {{TIME(…)}} are filled in there too, hence the cut between two braces. */
const toBlock = (line: string, style: object = {}) => ({
  type: "RichTextBlock",
  inlines: shorten(toLine(line), MAX_LINE)
    .split(/(?<=\{)(?=\{)/)
    .map((text) => ({ type: "TextRun", text, ...style })),
});

/** What HTML or Markdown could read as more than text becomes an entity, which both show as the character. */
const toEntities = (line: string) => shorten(toLine(line), MAX_LINE).replace(/[^\p{L}\p{N}\s.,:;•…-]/gu, (character) => `&#${character.codePointAt(0)};`);

const toText = (told: Told) =>
  [headline(told), told.message, ...linesOf(told).map((line) => `• ${line}`), told.organization.name]
    .map(toEntities)
    .concat(told.url ? [told.url] : [])
    .join("<br>\n");
