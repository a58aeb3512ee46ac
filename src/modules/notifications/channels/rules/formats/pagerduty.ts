import type { Values } from "#catalogue/fields";
import { toLine } from "#mail/address";
import type { Call } from "#outbound/call";
import { headline, linesOf, shorten, type Told } from "../told";

const HOSTS: Record<string, string> = { us: "https://events.pagerduty.com", eu: "https://events.eu.pagerduty.com" };
const MAX_SUMMARY = 1_024;

/** Returns the request to the Events API v2: `trigger`, or `resolve` once the state has ended, under the same key. */
export function pagerdutyCall({ region = "us", integrationKey, defaultSeverity = "warning" }: Values, told: Told): Call {
  const event = {
    routing_key: integrationKey,
    event_action: told.incident?.isResolved ? "resolve" : "trigger",
    dedup_key: `${told.organization.id} ${told.incident?.key ?? told.id}`,
    ...(!told.incident?.isResolved && { payload: toPayload(told, String(defaultSeverity)), client: "Certitude", ...toLink(told) }),
  };
  return {
    method: "POST",
    url: new URL("/v2/enqueue", HOSTS[String(region)]),
    headers: { "content-type": "application/json", "user-agent": "certitude" },
    body: JSON.stringify(event),
  };
}

const toLink = ({ url }: Told) => url && { client_url: url, links: [{ href: url, text: "Open in Certitude" }] };

/** A warning has the severity that the connection says; the others are called the same there. */
const toPayload = (told: Told, warning: string) => ({
  summary: shorten(toLine(headline(told)), MAX_SUMMARY),
  severity: told.severity === "warning" ? warning : told.severity,
  source: "Certitude",
  timestamp: told.occurredAt,
  class: told.kind,
  group: told.organization.name,
  custom_details: { message: told.message, subjects: linesOf(told) },
});
