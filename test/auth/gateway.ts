import { readConfig } from "#config";
import { call } from "../support/server/call";
import type { TestOrganization } from "../support/server/people";
import { environment, startServer, world } from "../support/server/world";
import { sendRaw } from "./servers";

export const REFUSED = {
  status: 403,
  body: {
    message:
      "Organization headers alone are accepted from a trusted gateway only. Send a user token, or name the gateway in TRUSTED_GATEWAYS; with GATEWAY_SECRET it must send x-gateway-secret too.",
  },
};
export const pathOf = ({ id }: TestOrganization) => `/organizations/${id}/certs/monitoring/top-expiring`;
export const list = (organization: TestOrganization, headers: Record<string, string> = {}, { url = world.url, token = undefined as string | undefined } = {}) =>
  call("GET", pathOf(organization), { url, token, headers: { ...organization.headers("ORG_ADMIN"), ...headers } });
export const listFrom = (from: string, url: string, organization: TestOrganization, more: string[] = []) =>
  sendRaw(
    url,
    [`GET ${pathOf(organization)} HTTP/1.1`, "host: localhost", ...Object.entries(organization.headers("ORG_ADMIN")).map((pair) => pair.join(": ")), ...more],
    { from },
  );

export const FORWARDED = [
  { "x-forwarded-for": "127.0.0.1" },
  { "x-forwarded-for": "" },
  { "X-Forwarded-Host": "localhost" },
  { "x-forwarded-proto": "http" },
  { "x-forwarded-anything": "1" },
  { "x-forwarded": "for=127.0.0.1" },
  { "x-real-ip": "127.0.0.1" },
  { forwarded: "for=127.0.0.1;host=localhost" },
  { via: "1.1 proxy" },
  { Via: "" },
  { "cf-connecting-ip": "127.0.0.1" },
  { "true-client-ip": "127.0.0.1" },
  { "x-client-ip": "127.0.0.1" },
  { "cf-connecting-ipv6": "::1" },
  { "cf-ray": "8a1b2c3d4e5f6789-FRA" },
  { "fastly-client-ip": "127.0.0.1" },
  { "x-azure-clientip": "127.0.0.1" },
  { "x-appengine-user-ip": "127.0.0.1" },
  { "x-envoy-external-address": "127.0.0.1" },
  { "x-original-forwarded-for": "127.0.0.1" },
  { "cdn-loop": "cloudflare" },
];

/** What `serve --demo` starts on a database that holds nothing but the demo. */
export function startDemo(extra: Record<string, string | undefined> = {}) {
  const config = readConfig({ ...environment, DATA_DIR: world.directory, TRUSTED_GATEWAYS: undefined, ...extra });
  const started = startServer({ ...config, trustsLocalPrograms: true }, world.database);
  return { ...started, [Symbol.asyncDispose]: () => started.server.stop(true) };
}
