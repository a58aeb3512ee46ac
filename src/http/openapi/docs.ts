import { swagger } from "@elysiajs/swagger";
import { Elysia } from "elysia";
import type { Deps } from "#deps";
import stylePath from "../../../node_modules/swagger-ui-dist/swagger-ui.css" with { type: "file" };
// The page's script and style come out of the executable, so that it works without internet.
import scriptPath from "../../../node_modules/swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { devDependencies, version } from "../../../package.json";
import { isReading } from "../body";
import { exchangeOf } from "../exchange";
import { answerFixed, type FixedBody, fixBody } from "../fixed-body";
import { type Draft, toOpenApi } from "./document";
import pagePath from "./page.js" with { type: "file" };

const LOOK =
  "body{margin:0}.swagger-ui .info{margin:30px 0}.swagger-ui .info .title small{top:-4px}#caller{display:flex;flex-wrap:wrap;gap:12px;align-items:end;max-width:1460px;margin:0 auto;padding:16px 20px;font:14px sans-serif;border-bottom:1px solid #8884}#caller label{display:grid;gap:4px}#caller input{width:22em;max-width:90vw}#caller :is(input,select,button){padding:6px 8px;font:inherit}.swagger-ui .scheme-container{box-shadow:none;border-block:1px solid #8884}";
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const VERSION = devDependencies["swagger-ui-dist"];
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Certitude</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="swagger/style.css?${VERSION}">
<style>${LOOK}</style>
</head>
<body>
<form id="caller" autocomplete="off">
<label>Token <input name="token" type="password" placeholder="a user token, or an API token" aria-describedby="said"></label>
<label>Organization <input name="organizationId" list="organizations" placeholder="the first of yours" pattern="[0-9a-fA-F-]{36}" title="The organization's id, a UUID"></label>
<datalist id="organizations"></datalist>
<label>Role <select name="role"><option>ORG_ADMIN</option><option>ORG_MEMBER</option></select></label>
<button>Call as this</button> <button type="reset">Forget</button> <a href="docs">Guides</a>
<output id="said"></output>
</form>
<div id="page"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="swagger/json">swagger/json</a>.</noscript>
<script src="swagger/script.js?${VERSION}"></script>
<script src="swagger/page.js?${VERSION}-${version}"></script>
</body>
</html>
`;

/** `/swagger` and `/swagger/json`. The plugin's draft is mended and serialized once, at the first request. */
export function docs({ config }: Pick<Deps, "config">) {
  let document: FixedBody | undefined;
  return (
    new Elysia({ name: "docs" })
      // Not async: Elysia does not wait for it where a request failed.
      .mapResponse(({ responseValue, path, request, set }) => {
        if (path === "/swagger") return new Response(PAGE, { headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": POLICY } });
        if (path !== "/swagger/json" || !isReading(request)) return;
        document ??= fixBody(JSON.stringify(toOpenApi(responseValue as Draft, addressOf(config, request))), {
          "content-type": "application/json",
          "cache-control": "no-cache",
        });
        return answerFixed({ request, set }, document);
      })
      .get("/swagger/script.js", asset(scriptPath, "text/javascript; charset=utf-8"), { detail: { hide: true } })
      .get("/swagger/page.js", asset(pagePath, "text/javascript; charset=utf-8"), { detail: { hide: true } })
      .get("/swagger/style.css", asset(stylePath, "text/css; charset=utf-8"), { detail: { hide: true } })
      .use(swagger({ provider: "swagger-ui", exclude: ["/swagger", "/swagger/json"], excludeStaticFile: false }))
  );
}

/** Returns the base address for clients: PUBLIC_URL, or where this server listens, without the last slash. */
function addressOf({ publicUrl, port }: Deps["config"], request: Request) {
  const listening = exchangeOf(request).server?.url.origin.replace("//0.0.0.0:", "//localhost:").replace("//[::]:", "//localhost:");
  return (publicUrl ?? listening ?? `http://localhost:${port}`).replace(/\/$/, "");
}

/** The page asks for it by version, so a copy never grows old. */
function asset(path: string, type: string) {
  let file: FixedBody | undefined;
  return async ({ request, set }: Parameters<typeof answerFixed>[0]) => {
    file ??= fixBody(await Bun.file(path).text(), { "content-type": type, "cache-control": "public, max-age=31536000, immutable" });
    return answerFixed({ request, set }, file);
  };
}
