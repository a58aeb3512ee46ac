import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { Answer, Message } from "./schema";

const DATABASE_TIMEOUT_MS = 2_000;

const Ok = t.Literal("ok", { description: "Always ok: another status of HTTP says that it is not" });
const Ready = Answer({
  status: Ok,
  jobs: Answer(
    { late: t.Array(t.String(), { description: "Background jobs that no server has run for three of their periods, by name", examples: [[]] }) },
    { description: "The work in the background" },
  ),
});

export const health = ({ jobRuns }: Deps) =>
  new Elysia({ prefix: "/health", tags: ["Operations"] })
    .get("/live", () => ({ status: "ok" as const }), {
      response: { 200: Answer({ status: Ok }) },
      detail: { operationId: "isLive", summary: "The process runs", description: "Never asks the database." },
    })
    .get(
      "/ready",
      async ({ status, set }) => {
        const late = await Promise.race([jobRuns.late().catch(() => undefined), Bun.sleep(DATABASE_TIMEOUT_MS)]);
        if (late) return { status: "ok" as const, jobs: { late } };
        set.headers["retry-after"] = "1";
        return status(503, { message: "The database is away." });
      },
      {
        response: { 200: Ready, 503: Message },
        detail: {
          operationId: "isReady",
          summary: "The database answers",
          description: "A job that is late changes no status: the server answers requests as well as any other. `GET /admin/jobs` says more of it.",
        },
      },
    );
