import { describe, expect, test } from "bun:test";
import type { Values } from "#catalogue/fields";
import { callOf, findFault, plan } from "#modules/core/connections/services/verification";
import { WAYS } from "#modules/core/connectors/rules/auth-methods";
import { CONNECTORS, KINDS, type Kind } from "#modules/core/connectors/rules/kinds";
import { full } from "../../../support/openapi/fields";

const connectorOf = (kind: string) => CONNECTORS.find((each) => each.key === kind);

const AWS = { accessKeyId: "a", secretAccessKey: "s", region: "eu-central-1" };

/** The request that the catalogue and the way make of these values. */
function callFor(kind: Kind, values: Values) {
  const planned = plan(kind, values);
  if ("message" in planned) throw new Error(planned.message);
  return callOf(planned, values);
}

describe("the check of a kind", () => {
  test.each(KINDS.filter((kind) => WAYS[kind]))("%s is a request by each of its ways", (kind) => {
    const { configFields = [], secretFields = [], verify } = connectorOf(kind) ?? {};
    for (const { when, without = [] } of WAYS[kind] ?? []) {
      const values: Values = { ...full(secretFields), ...full(configFields), ...when };
      for (const name of without) delete values[name];
      const call = callFor(kind, values);
      expect(call?.method).toBe(verify?.method ?? "");
      expect(call?.url.href).not.toMatch(/undefined|\{|%7B/i);
      expect(JSON.stringify([call?.headers, call?.body])).not.toMatch(/undefined|"\{\w+\}"/);
    }
  });

  test("every kind that can be checked has a success that can be recognized", () => {
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
    ["s3", { ...AWS, bucket: "certs", pathStyle: true }, "https://s3.eu-central-1.amazonaws.com/certs"],
    ["s3", { ...AWS, bucket: "certs", pathStyle: false }, "https://certs.s3.eu-central-1.amazonaws.com/"],
    ["s3", { ...AWS, bucket: "certs", pathStyle: false, endpoint: "https://store.example:9000" }, "https://certs.store.example:9000/"],
    ["aws_acm", AWS, "https://acm.eu-central-1.amazonaws.com/"],
    ["aws_acm", { ...AWS, region: "evil.example/#" }, undefined],
    ["s3", { ...AWS, bucket: "evil.example/x", pathStyle: false }, undefined],
  ] as const)("%s with %j asks %s", (kind, values, url) => {
    expect(callFor(kind, values)?.url.href).toBe(url);
  });

  test.each([
    ["pagerduty", { region: "us" }, "The check needs apiToken, which this connection does not have."],
    ["kubernetes", { authMethod: "client_certificate", clientCertificatePem: "x" }, "The check needs clientKeyPem, which this connection does not have."],
    ["s3", { pathStyle: true }, "The check needs accessKeyId, which this connection does not have."],
    ["s3", { pathStyle: true, accessKeyId: "a", roleArn: "r" }, "There is no check of Amazon S3 and compatible storage with roleArn."],
    ["azure_key_vault", { authMethod: "managed_identity" }, "There is a check of Azure Key Vault certificates only with authMethod client_secret."],
    ["google_cas", {}, "The check needs serviceAccountKeyJson, which this connection does not have."],
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
  ])("%s answers %d %s", (success, status, body, fault) => {
    expect(findFault({ success }, { status, body })).toBe(fault);
  });
});
