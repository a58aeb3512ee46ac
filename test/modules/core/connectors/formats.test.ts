import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { teamsCall } from "#modules/core/connectors/rules/formats/microsoft-teams";
import { pagerdutyCall } from "#modules/core/connectors/rules/formats/pagerduty";
import { judgeSlack, slackCall } from "#modules/core/connectors/rules/formats/slack";
import { webhookCall } from "#modules/core/connectors/rules/formats/webhook";
import type { Message } from "#modules/core/connectors/rules/message";
import { judgeStatus } from "#modules/core/connectors/rules/outcome";
import { urlOf } from "#modules/core/connectors/services/attempt";
import type { Call } from "#outbound/call";

const NOW = new Date("2026-11-22T12:00:00Z");
/** A name that means something to every format. */
const NAME = "<!channel> *.example.org {{DATE(2020-01-01T00:00:00Z,SHORT)}} {{name}} [x](https://evil.example) & _a_ `b`\u202e\r\nX-Evil: 1";
const LINE = NAME.replace(/\u202e|\r|\n/g, " ");

const received = (more: Partial<Message> = {}): Message => ({
  id: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01",
  kind: "certificate_expiring",
  severity: "warning",
  title: `${NAME} expires`,
  message: `The certificate ${NAME} expires.`,
  link: "/certificates/1",
  count: 1,
  items: [{ id: "1", words: `${NAME} expires`, facts: { commonName: NAME } }],
  occurredAt: NOW.toISOString(),
  organization: { id: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c02", name: "Example & Co" },
  url: "https://certitude.example/certificates/1",
  incident: undefined,
  isTest: false,
  ...more,
});
const bodyOf = (call: Call | { missing: string }) => JSON.parse("missing" in call ? "" : (call.body ?? ""));
const many = (count: number) =>
  received({ count, items: Array.from({ length: Math.min(count, 100) }, (_, index) => ({ id: `${index}`, words: `cert-${index}`, facts: {} })) });

describe("the webhook format", () => {
  const url = "https://receiver.example/hook?x=1";

  test("is a Standard Webhook that its library verifies, with names as they are", () => {
    const secret = `whsec_${Buffer.from("a secret of sixteen bytes or more").toString("base64")}`;
    for (const signingSecret of [secret, secret.replace("whsec_", "")]) {
      const call = webhookCall({ url, signingSecret }, received(), new Date());
      const body = new Webhook(secret).verify(call.body ?? "", call.headers) as { data: Record<string, unknown> };
      expect(body).toMatchObject({
        type: "certificate_expiring",
        timestamp: NOW.toISOString(),
        data: {
          severity: "warning",
          title: `${NAME} expires`,
          items: [{ id: "1", commonName: NAME }],
          count: 1,
          test: false,
          organization: { name: "Example & Co" },
        },
      });
      expect(call).toMatchObject({ method: "POST", url: new URL(url), headers: { "webhook-id": received().id, "content-type": "application/json" } });
    }
  });

  test.each(["Host", "content-length", "Transfer-Encoding", "connection", "proxy-authorization", "webhook-id"])(
    "the signature takes the place of no header by which the request is sent: %s",
    (signatureHeader) => {
      const { headers } = webhookCall({ url: "https://hooks.example/", signingSecret: "s3cr3t", signatureHeader }, received(), new Date());
      expect(headers[signatureHeader.toLowerCase()] ?? "").not.toStartWith("sha256=");
      expect(headers["webhook-signature"]).toStartWith("v1,");
    },
  );

  test("signs with the bytes of a secret that is no base64, and also into a header of its own", () => {
    const { headers, body = "" } = webhookCall({ url, signingSecret: "not base64!", signatureHeader: "X-Hub-Signature-256" }, received(), new Date());
    new Webhook("not base64!", { format: "raw" }).verify(body, headers);
    const hmac = new Bun.CryptoHasher("sha256", "not base64!").update(body).digest("hex");
    expect(headers["x-hub-signature-256"]).toBe(`sha256=${hmac}`);
  });

  test("has the method, headers and credentials of its config, but no header that is the server's own", () => {
    const headers = { "X-Team": "pki", Host: "evil.example", "Webhook-Id": "mine", "Transfer-Encoding": "chunked", "Content-Type": "text/plain" };
    const call = webhookCall({ url, method: "PUT", headers, bearerToken: "t" }, received(), NOW);
    expect(call.method).toBe("PUT");
    expect(call.headers).toEqual({
      "x-team": "pki",
      authorization: "Bearer t",
      "content-type": "application/json",
      "user-agent": "certitude",
      "webhook-id": received().id,
      "webhook-timestamp": String(NOW.getTime() / 1_000),
    });
    expect(webhookCall({ url, basicPassword: "pä:ss" }, received(), NOW).headers.authorization).toBe(
      `Basic ${Buffer.from("certitude:pä:ss").toString("base64")}`,
    );
  });
});

describe("the Slack format", () => {
  const bot = { mode: "bot_token", botToken: "xoxb-1", channelId: "C1" };

  test("mentions nobody and formats nothing, whatever a name holds", () => {
    const call = slackCall(bot, received({ url: undefined }));
    expect(call).toMatchObject({ url: new URL("https://slack.com/api/chat.postMessage"), headers: { authorization: "Bearer xoxb-1" } });
    const { text, ...rest } = bodyOf(call);
    expect(rest).toEqual({ channel: "C1", mrkdwn: false, link_names: false, unfurl_links: false, unfurl_media: false });
    expect(text).not.toMatch(/[<>]|&(?!(amp|lt|gt);)/);
    const lines = text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&").split("\n");
    expect(lines).toEqual([`[warning] ${LINE} expires`, `The certificate ${LINE} expires.`, "Example & Co"]);
  });

  test("lists fifty of many, stays short, and links to the server", () => {
    const { text } = bodyOf(slackCall({ mode: "incoming_webhook", webhookUrl: "https://hooks.slack.com/services/s3cr3t" }, many(2_000)));
    expect(text).toContain("• cert-49\n• and 1950 more\n");
    expect(text).toEndWith("\n<https://certitude.example/certificates/1|Open in Certitude>");
    const long = { ...many(100), items: many(100).items.map((item) => ({ ...item, words: "&".repeat(5_000) })) };
    expect(bodyOf(slackCall(bot, long)).text.length).toBeLessThan(11_000);
  });

  test("says what the connection lacks", () => {
    expect(slackCall({ mode: "bot_token", botToken: "x" }, received())).toEqual({ missing: "channelId" });
    expect(slackCall({ mode: "bot_token", channelId: "x" }, received())).toEqual({ missing: "botToken" });
    expect(slackCall({ mode: "incoming_webhook" }, received())).toEqual({ missing: "webhookUrl" });
  });

  test.each([
    ['{"ok":true}', { state: "delivered", status: 200 }],
    ['{"ok":false,"error":"not_in_channel"}', { state: "failed", status: 200, reason: "The bot is not in the channel: invite it there.", isFinal: true }],
    ['{"ok":false,"error":"ratelimited"}', { state: "failed", status: 200, reason: "Slack answered 200, but took no message.", isFinal: false }],
    ['{"ok":false,"error":"something s3cr3t"}', { state: "failed", status: 200, reason: "Slack answered 200, but took no message.", isFinal: true }],
    ["<html>", { state: "failed", status: 200, reason: "Slack answered 200, but took no message.", isFinal: false }],
    ["null", { state: "failed", status: 200, reason: "Slack answered 200, but took no message.", isFinal: false }],
  ])("an answer 200 with %s", (body, outcome) => {
    expect(judgeSlack("bot_token", { status: 200, body }, NOW)).toEqual(outcome as ReturnType<typeof judgeSlack>);
    expect(judgeSlack("incoming_webhook", { status: 200, body }, NOW).state).toBe("delivered");
  });
});

describe("the Teams format", () => {
  const webhookUrl = "https://example.logic.azure.com/workflows/1?sig=s3cr3t";
  type Block = { inlines: { text: string }[] };

  test("is an Adaptive Card of text runs, in which {{ opens nothing and the name is as it was", () => {
    const call = teamsCall({ webhookUrl, messageFormat: "adaptive_card" }, received());
    expect(call.url.href).toBe(webhookUrl);
    const [{ contentType, content }] = bodyOf(call).attachments;
    expect({ contentType, type: content.type, version: content.version }).toEqual({
      contentType: "application/vnd.microsoft.card.adaptive",
      type: "AdaptiveCard",
      version: "1.4",
    });
    const blocks = content.body as Block[];
    expect(blocks.map(({ inlines }) => inlines.map(({ text }) => text).join(""))).toEqual([
      `${LINE} expires`,
      `The certificate ${LINE} expires.`,
      "Example & Co",
    ]);
    expect(blocks.flatMap(({ inlines }) => inlines).some(({ text }) => text.includes("{{"))).toBeFalse();
    expect(content.actions).toEqual([{ type: "Action.OpenUrl", title: "Open in Certitude", url: received().url }]);
    expect(call.body).not.toContain('"TextBlock"');
  });

  test("fits into a card however much there is to say", () => {
    const long = { ...many(100), items: many(100).items.map((item) => ({ ...item, words: "w".repeat(5_000) })) };
    expect(Buffer.byteLength(teamsCall({ webhookUrl }, long).body ?? "")).toBeLessThan(28_000);
  });

  test("is text without markup where the connection says so", () => {
    const { text, type } = bodyOf(teamsCall({ webhookUrl, messageFormat: "text" }, received({ url: undefined })));
    expect(type).toBe("message");
    const shown = text.replaceAll("<br>\n", "\n").replace(/&#(\d+);/g, (_: string, code: string) => String.fromCodePoint(Number(code)));
    expect(shown).toBe(`${LINE} expires\nThe certificate ${LINE} expires.\nExample & Co`);
    expect(text.replaceAll("<br>", "").replace(/&#\d+;/g, "")).not.toMatch(/[<>&*_`[\]{}()!]/);
  });
});

describe("the PagerDuty format", () => {
  const values = { region: "us", integrationKey: "r0ut1ng", defaultSeverity: "error" };

  test.each([
    ["info", "info"],
    ["warning", "error"],
    ["critical", "critical"],
  ] as const)("triggers an incident; %s is sent as %s", (severity, shown) => {
    const call = pagerdutyCall(values, received({ severity, incident: { key: "certificate expiry 1", isResolved: false } }));
    expect(call.url.href).toBe("https://events.pagerduty.com/v2/enqueue");
    expect(bodyOf(call)).toMatchObject({
      routing_key: "r0ut1ng",
      event_action: "trigger",
      dedup_key: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c02 certificate expiry 1",
      payload: {
        summary: `${LINE} expires`,
        severity: shown,
        source: "Certitude",
        timestamp: NOW.toISOString(),
        class: "certificate_expiring",
        group: "Example & Co",
      },
      links: [{ href: received().url }],
    });
  });

  test("resolves it under the same key, where the region says", () => {
    const call = pagerdutyCall({ ...values, region: "eu" }, received({ incident: { key: "certificate expiry 1", isResolved: true } }));
    expect(call.url.href).toBe("https://events.eu.pagerduty.com/v2/enqueue");
    expect(bodyOf(call)).toEqual({ routing_key: "r0ut1ng", event_action: "resolve", dedup_key: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c02 certificate expiry 1" });
  });
});

describe("an answer", () => {
  const outcome = (status: number, retryAfter?: string) => judgeStatus({ status, body: "s3cr3t", retryAfter }, NOW);

  test.each([200, 202, 204])("%d is a delivery", (status) => {
    expect(outcome(status)).toEqual({ state: "delivered", status });
  });

  test.each([400, 401, 403, 404, 405, 410, 422])("%d is final", (status) => {
    expect(outcome(status, "7")).toMatchObject({ state: "failed", status, isFinal: true });
    expect(outcome(status, "7")).not.toHaveProperty("retryAfterMs");
  });

  test.each([301, 302, 307, 408, 425, 429, 500, 502, 503, 599])("%d is tried again", (status) => {
    expect(outcome(status)).toMatchObject({ state: "failed", status, isFinal: false });
    expect(JSON.stringify(outcome(status))).not.toContain("s3cr3t");
  });

  test.each([
    ["7", 7_000],
    ["0", 0],
    [" 90 ", 90_000],
    ["9999999", 86_400_000],
    ["Sun, 22 Nov 2026 12:00:30 GMT", 30_000],
    ["Sun, 22 Nov 2020 12:00:30 GMT", 0],
    ["Sun, 22 Nov 2099 12:00:30 GMT", 86_400_000],
    ["-1", undefined],
    ["soon", undefined],
    ["99999999999999999999", undefined],
    ["2026-11-22", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("Retry-After %p asks for %p ms", (text, wait) => {
    const { retryAfterMs } = outcome(503, text) as { retryAfterMs?: number };
    expect(retryAfterMs).toBe(wait);
  });
});

test("a link begins with the whole of PUBLIC_URL, its path too", () => {
  expect(urlOf({ publicUrl: "https://certitude.example/app" }, "/organizations/1/certificates/2")).toBe(
    "https://certitude.example/app/organizations/1/certificates/2",
  );
  expect(urlOf({ publicUrl: undefined }, "/organizations/1")).toBeUndefined();
});
