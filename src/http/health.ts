import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { Answer, Message } from "./schema";

const DATABASE_TIMEOUT_MS = 2_000;

export const health = ({ sql }: Deps) =>
  new Elysia({ prefix: "/health", tags: ["Operations"] })
    .get("/live", () => ({ status: "ok" as const }), {
      response: { 200: Answer({ status: t.Literal("ok") }) },
      detail: { operationId: "isLive", summary: "The process runs", description: "Never asks the database." },
    })
    .get(
      "/ready",
      async ({ status, set }) => {
        const ready = await Promise.race([
          sql`select 1`.then(
            () => true,
            () => false,
          ),
          Bun.sleep(DATABASE_TIMEOUT_MS).then(() => false),
        ]);
        if (ready) return { status: "ok" as const };
        set.headers["retry-after"] = "1";
        return status(503, { message: "The database is away." });
      },
      {
        response: { 200: Answer({ status: t.Literal("ok") }), 503: Message },
        detail: { operationId: "isReady", summary: "The database answers" },
      },
    );
