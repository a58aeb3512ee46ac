import { swagger } from "@elysiajs/swagger";
import { Elysia } from "elysia";
import stylePath from "../../node_modules/swagger-ui-dist/swagger-ui.css" with { type: "file" };
// The page's script and style come out of the executable, so that it works without internet.
import scriptPath from "../../node_modules/swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { type Draft, toOpenApi } from "./openapi";

const POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'";

/** "none" keeps the page from sending the document to a public validator. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Certitude</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/swagger/style.css">
</head>
<body>
<div id="page"></div>
<script src="/swagger/script.js"></script>
<script>
SwaggerUIBundle({ url: "/swagger/json", dom_id: "#page", validatorUrl: "none", displayRequestDuration: true, docExpansion: "none" });
</script>
</body>
</html>
`;

/** `/swagger` and `/swagger/json`. The plugin's document is mended and serialized once, at the first request. */
export function docs() {
  let document: { text: string; etag: string } | undefined;
  return (
    new Elysia({ name: "docs" })
      // Not async: Elysia does not wait for it where a request failed.
      .mapResponse({ as: "scoped" }, ({ responseValue, path, request }) => {
        if (path === "/swagger") return new Response(PAGE, { headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": POLICY } });
        if (path !== "/swagger/json" || request.method !== "GET") return;
        document ??= serialize(responseValue as Draft);
        const headers = { etag: document.etag, "cache-control": "no-cache" };
        if (request.headers.get("if-none-match") === document.etag) return new Response(null, { status: 304, headers });
        return new Response(document.text, { headers: { ...headers, "content-type": "application/json" } });
      })
      .get("/swagger/script.js", () => asset(scriptPath, "text/javascript; charset=utf-8"), { detail: { hide: true } })
      .get("/swagger/style.css", () => asset(stylePath, "text/css; charset=utf-8"), { detail: { hide: true } })
      .use(swagger({ provider: "swagger-ui", exclude: ["/swagger", "/swagger/json"] }))
  );
}

const asset = (path: string, type: string) => new Response(Bun.file(path), { headers: { "content-type": type, "cache-control": `max-age=3600` } });

function serialize(draft: Draft) {
  const text = JSON.stringify(toOpenApi(draft));
  return { text, etag: `"${new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 32)}"` };
}
