import { Elysia, t } from "elysia";
import type { Deps } from "../../deps";
import { inOrganization } from "../../guards/in-organization";
import { matchesNone } from "../../http/etag";
import { jsonText } from "../../http/page";
import { Empty, Uuid } from "../../http/schema";
import { CATALOGUE } from "./catalogue";
import { TrustStoreCatalogue } from "./schema";

const CACHING = { etag: CATALOGUE.etag, "cache-control": "private, max-age=3600" };

export const trustStores = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/certs/trust-store-catalog", tags: ["Trust stores"] }).use(inOrganization(deps)).get(
    "",
    ({ request, set, status }) => {
      if (!matchesNone(request.headers, CATALOGUE.etag)) return jsonText(CATALOGUE.text, 200, CACHING);
      Object.assign(set.headers, CACHING);
      return status(304, "");
    },
    {
      params: t.Object({ organizationId: Uuid }),
      response: { 200: TrustStoreCatalogue, 304: Empty },
      detail: {
        operationId: "listTrustStores",
        summary: "List trust store catalog metadata",
        description: "Every kind of trust store that an assignment may name, and the languages whose trust only their own programs can change.",
      },
    },
  );
