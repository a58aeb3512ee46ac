import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { Refusal } from "#http/errors";
import { answerFixed, fixBody } from "#http/fixed-body";
import { buildPage } from "./build.macro" with { type: "macro" };
import { createProviderLookup, exchangeCode } from "./sign-in";

const HIDDEN = { detail: { hide: true } } as const;

/** `sources` are others than this server that the page may call. */
const policyFor = (sources: string[]) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${["'self'", ...sources].join(" ")}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");

const page = buildPage();

/** Named by a hash of their content, so a copy never grows old. */
const files = new Map(
  page.files.map(({ name, type, text }) => [name, fixBody(text, { "content-type": type, "cache-control": "public, max-age=31536000, immutable" })]),
);

const fixIndex = (sources: string[]) =>
  fixBody(page.index, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "content-security-policy": policyFor(sources),
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
  });

/** The console's page, its files, and what it needs to sign people in. Addresses are relative, so that it works behind any path prefix. */
export function consolePage(deps: Deps) {
  const findProvider = createProviderLookup(deps);
  const index = fixIndex([]);
  return new Elysia({ name: "console" })
    .get("/", () => lead("console/"), HIDDEN)
    .get(
      "/console",
      async ({ request, set }) => {
        if (!new URL(request.url).pathname.endsWith("/")) return lead("console/");
        const provider = await findProvider();
        return answerFixed({ request, set }, provider ? fixIndex([new URL(provider.tokenEndpoint).origin]) : index);
      },
      HIDDEN,
    )
    .get("/console/sign-in", async () => ({ provider: (await findProvider()) ?? null }), HIDDEN)
    .post("/console/sign-in", ({ request }) => exchangeCode(deps, request), HIDDEN)
    .get(
      "/console/:file",
      ({ params, request, set }) => {
        const file = files.get(params.file);
        if (!file) throw new Refusal(404, "The console has no such file. Load its page again: a newer one may be there.");
        return answerFixed({ request, set }, file);
      },
      HIDDEN,
    )
    .get("/invitations/accept", () => lead("../console/?invitation"), HIDDEN); // browsers carry the fragment, which holds the token, along
}

const lead = (location: string) => new Response(null, { status: 302, headers: { location } });
