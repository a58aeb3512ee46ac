import { expect, test } from "bun:test";
import { toCall, toLogin } from "#modules/core/connections/services/request";
import type { Login, Way } from "#modules/core/connectors/rules/auth-methods";
import type { Verify } from "#modules/core/connectors/rules/kinds";

const VERIFY = { method: "GET", base: "vaultUrl", path: "/v1/{mount}/roles/{role}" } as Verify;
const call = (mount: string, role = "web") => toCall(VERIFY, {} as Way, { vaultUrl: "https://vault.example/team", mount, role }).url.href;

test.each(["../../sys", "..", "pki/../../sys", ".", "pki/."])("a value leads to no path that the check does not name: %s", (mount) => {
  expect(() => call(mount)).toThrow(TypeError);
  const login = { base: "vaultUrl", path: "/v1/auth/{mount}/login", form: {}, token: "" } as unknown as Login;
  expect(() => toLogin(login, VERIFY, {} as Way, { vaultUrl: "https://vault.example", mount })).toThrow(TypeError);
});

test.each([
  ["pki/team-a", "/team/v1/pki/team-a/roles/web"],
  ["..pki..", "/team/v1/..pki../roles/web"],
  ["a?b#c@d\\e", "/team/v1/a%3Fb%23c%40d%5Ce/roles/web"],
])("a value is one part of the path, or several: %s", (mount, path) => {
  expect(call(mount)).toBe(`https://vault.example${path}`);
});
