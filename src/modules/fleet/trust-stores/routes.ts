import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { answerFixed, fixBody } from "#http/fixed-body";
import { Empty, Uuid } from "#http/schema";
import { CATALOGUE_JSON } from "./rules/catalogue";
import { TrustStoreCatalogue } from "./schema";

const CATALOGUE = fixBody(CATALOGUE_JSON, { "content-type": "application/json", "cache-control": "private, max-age=3600" });

export const trustStores = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/certs/trust-store-catalog", tags: ["Trust stores"] })
    .use(inOrganization(deps))
    .get("", ({ request, set }) => answerFixed({ request, set }, CATALOGUE), {
      params: t.Object({ organizationId: Uuid }),
      response: { 200: TrustStoreCatalogue, 304: Empty },
      detail: {
        operationId: "listTrustStores",
        summary: "List trust store catalog metadata",
        description: "Every kind of trust store that an assignment may name, and the languages whose trust only their own programs can change.",
      },
    });
