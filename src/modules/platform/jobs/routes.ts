import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { platformStaff } from "#guards/platform-staff";
import { Jobs } from "./schema";

/** The background work of all servers, for the platform's staff. */
export const jobs = (deps: Deps) =>
  new Elysia({ prefix: "/admin/jobs", tags: ["Platform staff"] })
    .use(platformStaff(deps))
    .get("", async () => ({ items: (await deps.jobRuns.list()).map(({ sinceSuccessMs, ...item }) => item) }), {
      response: { 200: Jobs },
      detail: {
        operationId: "listJobs",
        summary: "List the background jobs",
        description: "What ran last on any server, how long it took, what failed, what waits, and what is late. Servers write it every 15 seconds.",
      },
    });
