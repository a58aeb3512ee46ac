import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { Answer, Integer, Message } from "./schema";

const DATABASE_TIMEOUT_MS = 2_000;

const Ok = t.Literal("ok", { description: "Always ok: another status of HTTP says that it is not" });
const Ready = Answer({
  status: Ok,
  jobs: Answer(
    { late: t.Array(t.String(), { description: "Background jobs that no server has run for three of their periods, by name", examples: [[]] }) },
    { description: "The work in the background" },
  ),
  clock: Answer(
    {
      aheadSeconds: Integer({
        description:
          "By how much the server's clock is ahead of the database's, negative where it is behind. Beyond 300 the server does nothing that is due by the clock.",
        examples: [0],
      }),
    },
    { description: "The server's clock" },
  ),
});

export function health({ jobRuns, clockCheck, sql }: Deps) {
  let asking: Promise<{ late: string[]; aheadMs: number } | undefined> | undefined;
  /** Asks the database once for all who ask meanwhile: any stranger may. */
  const ask = () => {
    asking ??= Promise.all([jobRuns.late(), clockCheck.aheadMs()])
      .then(([late, aheadMs]) => ({ late, aheadMs }))
      .catch(() => undefined)
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };
  return new Elysia({ prefix: "/health", tags: ["Operations"] })
    .get("/live", () => ({ status: "ok" as const }), {
      response: { 200: Answer({ status: Ok }) },
      detail: { operationId: "isLive", summary: "The process runs", description: "Never asks the database." },
    })
    .get(
      "/ready",
      async ({ status, set }) => {
        const found = await Promise.race([ask(), Bun.sleep(DATABASE_TIMEOUT_MS)]);
        if (found && !sql.isReadOnly()) {
          return { status: "ok" as const, jobs: { late: found.late }, clock: { aheadSeconds: Math.round(found.aheadMs / 1_000) } };
        }
        set.headers["retry-after"] = "1";
        return status(503, { message: found ? "The database takes no writes: it is a standby, or closed to them." : "The database is away." });
      },
      {
        response: { 200: Ready, 503: Message },
        detail: {
          operationId: "isReady",
          summary: "The database answers, and takes writes",
          description:
            "503 while the database is away or takes no writes. A job that is late and a clock that is wrong change no status: the server answers requests as well as any other. `GET /admin/jobs` says more of it.",
        },
      },
    );
}
