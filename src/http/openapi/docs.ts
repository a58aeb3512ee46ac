import { swagger } from "@elysiajs/swagger";
import { Elysia } from "elysia";
import { sha256 } from "#crypto/sha256";
import stylePath from "../../../node_modules/swagger-ui-dist/swagger-ui.css" with { type: "file" };
// The page's script and style come out of the executable, so that it works without internet.
import scriptPath from "../../../node_modules/swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { devDependencies } from "../../../package.json";
import { isReading } from "../body";
import { answerFixed, type FixedBody, fixBody } from "../fixed-body";
import { type Draft, toOpenApi } from "./document";

/** "none" keeps the page from sending the document to a public validator. */
const START = `SwaggerUIBundle({ url: "/swagger/json", dom_id: "#page", validatorUrl: "none", displayRequestDuration: true, docExpansion: "none", filter: true, deepLinking: true, defaultModelsExpandDepth: 0, tryItOutEnabled: true });`;
const LOOK =
  "body{margin:0}.swagger-ui .info{margin:30px 0}.swagger-ui .info .title small{top:-4px}.swagger-ui .scheme-container{box-shadow:none;border-block:1px solid #8884}";
const POLICY = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${sha256(START, "base64")}'`,
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
<link rel="stylesheet" href="/swagger/style.css?${VERSION}">
<style>${LOOK}</style>
</head>
<body>
<div id="page"></div>
<script src="/swagger/script.js?${VERSION}"></script>
<script>${START}</script>
</body>
</html>
`;

/** `/swagger` and `/swagger/json`. The plugin's draft is mended and serialized once, at the first request. */
export function docs() {
  let document: FixedBody | undefined;
  return (
    new Elysia({ name: "docs" })
      // Not async: Elysia does not wait for it where a request failed.
      .mapResponse(({ responseValue, path, request, set }) => {
        if (path === "/swagger") return new Response(PAGE, { headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": POLICY } });
        if (path !== "/swagger/json" || !isReading(request)) return;
        document ??= fixBody(JSON.stringify(toOpenApi(responseValue as Draft)), { "content-type": "application/json", "cache-control": "no-cache" });
        return answerFixed({ request, set }, document);
      })
      .get("/swagger/script.js", asset(scriptPath, "text/javascript; charset=utf-8"), { detail: { hide: true } })
      .get("/swagger/style.css", asset(stylePath, "text/css; charset=utf-8"), { detail: { hide: true } })
      .use(swagger({ provider: "swagger-ui", exclude: ["/swagger", "/swagger/json"], excludeStaticFile: false }))
  );
}

/** The page asks for it by version, so a copy never grows old. */
function asset(path: string, type: string) {
  let file: FixedBody | undefined;
  return async ({ request, set }: Parameters<typeof answerFixed>[0]) => {
    file ??= fixBody(await Bun.file(path).text(), { "content-type": type, "cache-control": "public, max-age=31536000, immutable" });
    return answerFixed({ request, set }, file);
  };
}
