import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { Refusal } from "#http/errors";
import { peerAddress, requestId } from "#http/exchange";
import { createLinks } from "#storage/links";

/** The files of signed links. The link is the permission: no credential is asked for. */
export const files = (deps: Deps) => {
  const links = createLinks(deps.config.keyring);
  return new Elysia({ prefix: "/files" }).get(
    "/:key",
    async ({ params, request, status }) => {
      const link = links.read(params.key, new URL(request.url).searchParams);
      if (!link) throw new Refusal(403, "This link is not valid.");
      if (link.expiresAt <= deps.clock()) throw new Refusal(403, "This link has expired. Ask for a new one.");
      const object = await deps.store.get(link.key);
      if (!object) return status(404, { message: "What this link led to is gone." });
      const [organizationId, targetId = link.key] = link.key.split(".");
      deps.reads.add({
        organizationId: undefined,
        actor: { type: "anonymous" },
        action: "document.downloaded",
        targetType: "document",
        targetId,
        requestId: requestId(request),
        details: { organizationId, peer: peerAddress(request), method: request.method, isPartial: request.headers.has("range") },
      });
      return new Response(object, {
        headers: {
          "content-type": link.mediaType.startsWith("text/") ? `${link.mediaType}; charset=utf-8` : link.mediaType,
          "content-disposition": attachment(link.fileName),
          "content-security-policy": "default-src 'none'; sandbox",
          "x-content-type-options": "nosniff",
          "cache-control": "private, no-store",
        },
      });
    },
    { params: t.Object({ key: t.String() }), detail: { hide: true } },
  );
};

/** RFC 6266: a plain name for the old, the whole name for everybody else. */
function attachment(fileName: string) {
  const plain = fileName.replace(/[^\w .()-]/g, "_");
  const whole = encodeURIComponent(fileName).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`;
}
