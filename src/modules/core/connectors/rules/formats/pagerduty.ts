import type { Values } from "#catalogue/fields";
import { toLine } from "#mail/address";
import type { Call } from "#outbound/call";
import { headline, linesOf, type Message, shorten } from "../message";

const HOSTS: Record<string, string> = { us: "https://events.pagerduty.com", eu: "https://events.eu.pagerduty.com" };
const MAX_SUMMARY = 1_024;

/** Returns the request to the Events API v2: `trigger`, or `resolve` once the state has ended, under the same key. */
export function pagerdutyCall({ region = "us", integrationKey, defaultSeverity = "warning" }: Values, message: Message): Call {
  const event = {
    routing_key: integrationKey,
    event_action: message.incident?.isResolved ? "resolve" : "trigger",
    dedup_key: `${message.organization.id} ${message.incident?.key ?? message.id}`,
    ...(!message.incident?.isResolved && { payload: toPayload(message, String(defaultSeverity)), client: "Certitude", ...toLink(message) }),
  };
  return {
    method: "POST",
    url: new URL("/v2/enqueue", HOSTS[String(region)]),
    headers: { "content-type": "application/json", "user-agent": "certitude" },
    body: JSON.stringify(event),
  };
}

const toLink = ({ url }: Message) => url && { client_url: url, links: [{ href: url, text: "Open in Certitude" }] };

/** A warning has the severity that the connection says; the others are called the same there. */
const toPayload = (message: Message, warning: string) => ({
  summary: shorten(toLine(headline(message)), MAX_SUMMARY),
  severity: message.severity === "warning" ? warning : message.severity,
  source: "Certitude",
  timestamp: message.occurredAt,
  class: message.kind,
  group: message.organization.name,
  custom_details: { message: message.message, subjects: linesOf(message) },
});
