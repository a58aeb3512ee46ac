import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import type { Values } from "#catalogue/fields";
import type { Call } from "#outbound/call";
import { headline, type Message } from "../message";

/** The user of basic authentication: the catalogue has a password alone. */
const BASIC_USER = "certitude";
/** Headers that say how the request is sent, or that only this server may set. */
const RESERVED = /^(host|connection|content-length|transfer-encoding|upgrade|expect|te|trailer|keep-alive|proxy-.*|webhook-(id|timestamp|signature))$/i;

/** Returns the request of a webhook as Standard Webhooks wants it. */
export function webhookCall(values: Values, message: Message, now: Date): Call {
  const { url, method = "POST", headers = {}, signatureHeader, signingSecret, bearerToken, basicPassword } = values;
  const body = JSON.stringify(toBody(message));
  const own = Object.entries(headers as Record<string, string>).filter(([name]) => !RESERVED.test(name));
  return {
    method: String(method),
    url: new URL(String(url)),
    headers: {
      ...Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value])),
      ...(basicPassword !== undefined && { authorization: `Basic ${Buffer.from(`${BASIC_USER}:${basicPassword}`).toString("base64")}` }),
      ...(bearerToken !== undefined && { authorization: `Bearer ${bearerToken}` }),
      ...(signingSecret !== undefined && signatures(String(signingSecret), signatureHeader, { id: message.id, body, now })),
      "content-type": "application/json",
      "user-agent": "certitude",
      "webhook-id": message.id,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    },
    body,
  };
}

type Signed = { id: string; body: string; now: Date };

function signatures(secret: string, header: unknown, { id, body, now }: Signed) {
  const key = keyOf(secret);
  return {
    ...(header !== undefined &&
      !RESERVED.test(String(header)) && { [String(header).toLowerCase()]: `sha256=${createHmac("sha256", key).update(body).digest("hex")}` }),
    "webhook-signature": new Webhook(key, { format: "raw" }).sign(id, now, body),
  };
}

/** Returns the key of a secret: base64, after `whsec_` or alone, as the libraries of Standard Webhooks read it; else its own bytes. */
function keyOf(secret: string) {
  const text = secret.replace(/^whsec_/, "");
  const bytes = Buffer.from(text, "base64");
  return bytes.length > 0 && bytes.toString("base64") === text ? bytes : Buffer.from(secret);
}

const toBody = (message: Message) => ({
  type: message.kind,
  timestamp: message.occurredAt,
  data: {
    severity: message.severity,
    title: headline(message),
    message: message.message,
    organization: message.organization,
    url: message.url ?? null,
    count: message.count,
    items: message.items.map(({ id, facts }) => ({ id, ...facts })),
    test: message.isTest,
  },
});
