import { Elysia } from "elysia";
import { Refusal } from "../errors";
import { answerFixed, type FixedBody, fixBody } from "../fixed-body";
import { POLICY, renderGuide } from "./pages";

const HIDDEN = { detail: { hide: true } } as const;
const HEADERS = { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache", "content-security-policy": POLICY };

/** Leads from a path with a slash at its end, where a page's links would lead elsewhere, to the one without. */
const withoutSlash = ({ url }: Request, name: string) =>
  new URL(url).pathname.endsWith("/") ? new Response(null, { status: 302, headers: { location: `../${encodeURIComponent(name)}` } }) : undefined;

/** The guides, at `/docs`; each is rendered once, at its first request. Links are relative, so that they work behind any path prefix. */
export function guides() {
  const pages = new Map<string | undefined, FixedBody>();

  function pageOf(name?: string) {
    const known = pages.get(name);
    if (known) return known;
    const html = renderGuide(name);
    if (html === undefined) throw new Refusal(404, "There is no such guide. /docs lists them.");
    const page = fixBody(html, HEADERS);
    pages.set(name, page);
    return page;
  }

  return new Elysia({ name: "guides" })
    .get("/docs", ({ request, set }) => withoutSlash(request, "docs") ?? answerFixed({ request, set }, pageOf()), HIDDEN)
    .get("/docs/:guide", ({ request, set, params: { guide } }) => withoutSlash(request, guide) ?? answerFixed({ request, set }, pageOf(guide)), HIDDEN);
}
