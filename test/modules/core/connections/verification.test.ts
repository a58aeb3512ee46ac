import { describe, expect, test } from "bun:test";
import { WAYS } from "#modules/core/connections/rules/auth-methods";
import { CONNECTORS, KINDS } from "#modules/core/connections/rules/kinds";
import { findFault, plan, verifyConnection } from "#modules/core/connections/services/verification";
import { full } from "../../../support/openapi/fields";

const connectorOf = (kind: string) => CONNECTORS.find((each) => each.key === kind);

describe("the check of a kind", () => {
  test.each(KINDS)("%s is a request, or unsupported with a sentence, and never ok by itself", async (kind) => {
    const { configFields = [], secretFields = [], verify } = connectorOf(kind) ?? {};
    const planned = plan(kind, { ...full(secretFields), ...full(configFields) });
    if ("message" in planned) {
      expect(planned.message).toMatch(/^(There is no check|The check of|There is a check of) .+\.$/);
      expect(await verifyConnection(kind, { config: full(configFields), secrets: full(secretFields) }, true)).toEqual({
        outcome: "unsupported",
        message: planned.message,
      });
    } else {
      expect(planned.call.method).toBe(verify?.method ?? "");
      expect(planned.call.url.href).not.toMatch(/undefined|\{|%7B/i);
      expect(JSON.stringify(planned.call.headers)).not.toMatch(/undefined|\{\w+\}/);
    }
  });

  test("every kind that can be checked has a success that can be told", () => {
    for (const kind of KINDS.filter((each) => WAYS[each])) {
      const { success = "" } = connectorOf(kind)?.verify ?? {};
      expect(findFault({ success }, { status: 418, body: "" })).toStartWith("It answered 418, not 20");
    }
  });

  test.each([
    ["slack", { mode: "bot_token", botToken: "t" }, "https://slack.com/api/auth.test"],
    ["pagerduty", { region: "us", apiToken: "t" }, "https://api.pagerduty.com/abilities"],
    ["pagerduty", { region: "eu", apiToken: "t" }, "https://api.eu.pagerduty.com/abilities"],
    ["digicert_certcentral", { baseUrl: "https://www.digicert.com/services/v2/", apiKey: "t" }, "https://www.digicert.com/services/v2/user/me"],
    ["github", { apiBaseUrl: "https://git.example/api/v3?x=1#y", authMethod: "token", token: "t" }, "https://git.example/api/v3/user#y"],
  ] as const)("%s with %j asks %s", (kind, values, url) => {
    expect(plan(kind, values)).toMatchObject({ call: { url: new URL(url) } });
  });

  test.each([
    ["pagerduty", { region: "us" }, "The check needs apiToken, which this connection does not have."],
    ["kubernetes", { authMethod: "client_certificate", clientCertificatePem: "x" }, "The check needs clientKeyPem, which this connection does not have."],
    ["slack", { mode: "incoming_webhook" }, "There is a check of Slack only with mode bot_token."],
    ["s3", {}, "The check of Amazon S3 and compatible storage needs this, which the server cannot do: AWS Signature Version 4, service s3."],
    ["webhook", {}, "There is no check for Generic webhook. The receiver is unknown, so only a test delivery can check it."],
  ] as const)("%s with %j: %s", (kind, values, message) => {
    expect(plan(kind, values)).toEqual({ message });
  });

  test.each([
    ["HTTP 200", 200, "", undefined],
    ["HTTP 200", 201, "", "It answered 201, not 200."],
    ["HTTP 200 with ok true", 200, '{"ok":true}', undefined],
    ["HTTP 200 with ok true", 200, '{"ok":false}', "It answered 200, but without ok true."],
    ["HTTP 200 with status ok", 200, "ok", "It answered 200, but without status ok."],
    ["HTTP 201 with status.userInfo", 201, '{"status":{"userInfo":{}}}', undefined],
    ["HTTP 201 with status.userInfo", 201, '{"status":null}', "It answered 201, but without status.userInfo."],
    ["HTTP 200 with data.viewer not null", 200, "null", "It answered 200, but without data.viewer not null."],
  ])("%s is told of %d %s", (success, status, body, fault) => {
    expect(findFault({ success }, { status, body })).toBe(fault);
  });
});
