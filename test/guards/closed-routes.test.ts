import { afterAll, describe, expect, test } from "bun:test";
import { createApp } from "#app";
import { startWith } from "../auth/servers";
import { newOrganization } from "../support/server/people";
import { world } from "../support/server/world";

/** The routes that anybody may call. Every other must refuse a stranger, a new one too. */
const OPEN = [
  "GET /",
  "GET /console",
  "GET /console/sign-in",
  "GET /console/:file",
  "GET /invitations/accept",
  "GET /docs",
  "GET /docs/:guide",
  "GET /health/live",
  "GET /health/ready",
  "GET /swagger",
  "GET /swagger/json",
  "GET /swagger/page.js",
  "GET /swagger/script.js",
  "GET /swagger/style.css",
  "GET /.well-known/acme-challenge/:token",
  "GET /pki/:authorityId/ca.crt",
  "GET /pki/:authorityId/crl",
  "GET /pki/:authorityId/ocsp/*",
  "POST /pki/:authorityId/ocsp",
];
/** Those that a trusted gateway may call with nothing at all; metrics of AI systems only while the organization has no key. */
const LOCAL = ["GET /metrics", "POST /organizations/:organizationId/ai-governance/ingest/metrics"];

const routes = createApp(world.deps).routes.map(({ method, path }) => `${method} ${path}`);
const closed = routes.filter((route) => !OPEN.includes(route));
const organization = await newOrganization();
const outside = startWith({ TRUSTED_GATEWAYS: "10.0.0.0/8" });
const byDefault = startWith({ TRUSTED_GATEWAYS: undefined });
const withSecret = startWith({ GATEWAY_SECRET: "a secret of the gateway that is long enough" });
afterAll(() => Promise.all([outside, byDefault, withSecret].map(({ server }) => server.stop(true))));

/** Sends a body that would be 400, were it read. */
async function send(route: string, url: string, headers: Record<string, string>) {
  const [method = "", path = ""] = route.split(" ");
  const target = path.replace(":organizationId", organization.id).replace(/:\w+/g, () => crypto.randomUUID());
  const body = method === "GET" ? null : "{";
  const answer = await fetch(`${url}${target}`, { method, body, headers: { "content-type": "application/json", ...headers } });
  return { status: answer.status, text: await answer.text() };
}

describe("a stranger", () => {
  test("finds exactly the open routes open", () => {
    expect(routes.filter((route) => OPEN.includes(route)).sort()).toEqual([...OPEN].sort());
    expect(closed.length).toBeGreaterThan(0);
  });

  test.each(closed)("%s: 401 or 403 where no gateway is named, another one, or one with a secret, whatever the headers say", async (route) => {
    const strangers: Record<string, string>[] = [
      {},
      organization.headers("ORG_ADMIN"),
      { ...organization.headers("ORG_ADMIN"), "x-forwarded-for": "10.0.0.1", "x-user-id": crypto.randomUUID() },
      { ...organization.headers("ORG_ADMIN"), authorization: "Bearer nonsense" },
      { authorization: "Basic QTpC", "x-platform-staff-email": "ada@certitude.example" },
    ];
    for (const { url } of [outside, byDefault, withSecret])
      for (const headers of strangers) {
        const { status, text } = await send(route, url, headers);
        expect([401, 403]).toContain(status);
        if (status === 401) expect(text).toBe("");
        expect(text).not.toMatch(/body|JSON/);
      }
  });

  test.each(closed.filter((route) => !LOCAL.includes(route)))("%s: 401 or 403 from a trusted gateway without headers", async (route) => {
    expect([401, 403]).toContain((await send(route, world.url, {})).status);
  });
});
