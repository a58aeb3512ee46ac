import type { Values } from "#catalogue/fields";
import { toLine } from "#mail/address";
import type { Call, Reply } from "#outbound/call";
import { headline, linesOf, type Message, shorten } from "../message";
import { judgeStatus, type Outcome } from "../outcome";

/** Characters; Slack cuts a message at 40,000. */
const MAX_TEXT = 10_000;

/** Returns the request that posts to a channel; undefined where the connection lacks what its mode needs. */
export function slackCall({ mode, botToken, channelId, webhookUrl }: Values, message: Message): Call | { missing: string } {
  const post = { text: toText(message), mrkdwn: false, link_names: false, unfurl_links: false, unfurl_media: false };
  if (mode === "incoming_webhook") {
    if (webhookUrl === undefined) return { missing: "webhookUrl" };
    return { method: "POST", url: new URL(String(webhookUrl)), headers: HEADERS, body: JSON.stringify(post) };
  }
  if (botToken === undefined) return { missing: "botToken" };
  if (channelId === undefined) return { missing: "channelId" };
  const headers = { ...HEADERS, authorization: `Bearer ${botToken}` };
  return { method: "POST", url: new URL("https://slack.com/api/chat.postMessage"), headers, body: JSON.stringify({ channel: channelId, ...post }) };
}

const HEADERS = { "content-type": "application/json; charset=utf-8", "user-agent": "certitude" };
const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Without `mrkdwn` an asterisk stays one (*.example.org); what is left are commands in angle brackets, such as <!channel>. */
const escapeText = (text: string) => toLine(text).replace(/[&<>]/g, (character) => ENTITIES[character] ?? "");

function toText(message: Message) {
  const lines = [`[${message.severity}] ${headline(message)}`, message.message, ...linesOf(message).map((line) => `• ${line}`), message.organization.name];
  const text = lines.map((line) => escapeText(shorten(line, 1_000))).join("\n");
  const link = message.url ? `\n<${escapeText(message.url.replace(/[|<>]/g, encodeURIComponent))}|Open in Certitude>` : "";
  return cutLines(text, MAX_TEXT) + link;
}

/** Cuts at the end of a line, so that no escaped character is cut in two. */
const cutLines = (text: string, max: number) => (text.length <= max ? text : `${text.slice(0, text.lastIndexOf("\n", max))}\n…`);

/** The meaning of those of Slack's errors that a person can do something about. */
const ERRORS: Record<string, string> = {
  channel_not_found: "Slack knows no such channel, or the bot may not see it.",
  not_in_channel: "The bot is not in the channel: invite it there.",
  is_archived: "The channel is archived.",
  invalid_auth: "Slack does not accept the bot's token.",
  token_revoked: "The bot's token was revoked.",
  token_expired: "The bot's token has expired.",
  account_inactive: "The bot's account is inactive.",
  missing_scope: "The bot's token lacks the scope chat:write.",
  restricted_action: "The workspace does not let the bot post there.",
};
const TRANSIENT = ["ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout", "accesslimited"];

/** Returns what an answer means: Slack's methods answer 200 also where they fail. */
export function judgeSlack(mode: unknown, reply: Reply, now: Date): Outcome {
  const outcome = judgeStatus(reply, now);
  if (mode === "incoming_webhook" || outcome.state === "failed") return outcome;
  const { ok, error } = readAnswer(reply.body);
  if (ok === true) return outcome;
  const reason = (typeof error === "string" && ERRORS[error]) || "Slack answered 200, but took no message.";
  return { state: "failed", status: reply.status, reason, isFinal: typeof error === "string" && !TRANSIENT.includes(error) };
}

function readAnswer(body: string): { ok?: unknown; error?: unknown } {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}
