import { t } from "elysia";
import { Answer, DateTime, Integer, Nullable, OneOf } from "#http/schema";

const Count = (description: string) => Integer({ minimum: 0, description, examples: [0] });

const Queue = Answer(
  {
    waiting: Integer({ minimum: 0, description: "Jobs that wait, also those that are tried again later", examples: [3] }),
    active: Integer({ minimum: 0, description: "Jobs that run", examples: [1] }),
    failed: Integer({
      minimum: 0,
      description: "Jobs that failed for good in the last days; the queue `…-failed` takes what follows from that",
      examples: [0],
    }),
  },
  { title: "JobQueue", description: "What waits; null for a job that is done over and over" },
);

const Job = Answer(
  {
    name: t.String({ description: "As in the log and the metrics", examples: ["watch-expiry"] }),
    everySeconds: Nullable(t.Number({ description: "Its period; null for a job that runs when there is something to do", examples: [20] })),
    isLate: t.Boolean({ description: "No server has run it for three of its periods, and for 45 seconds at least" }),
    server: Nullable(t.String({ description: "Host name and process id of where it began last", examples: ["certitude-1:4711"] })),
    lastStartedAt: Nullable({ ...DateTime, description: "Later than `lastFinishedAt` while it runs" }),
    lastFinishedAt: Nullable({ ...DateTime, description: "When it last ended, however" }),
    lastDurationMs: Nullable(Integer({ minimum: 0, description: "Milliseconds", examples: [12] })),
    lastOutcome: Nullable(OneOf(["succeeded", "failed"], { description: "null: it has not ended yet" })),
    lastSucceededAt: Nullable({ ...DateTime, description: "null: never" }),
    lastFailedAt: Nullable({ ...DateTime, description: "null: never" }),
    lastFailure: Nullable(
      t.String({ description: "A sentence without anything that was stored; the server's log says more", examples: ["The database is away or too slow."] }),
    ),
    runs: Count("How often it has ended, on all servers"),
    failures: Count("How often it has failed"),
    queue: Nullable(Queue),
  },
  { title: "Job" },
);

export const Jobs = Answer({ items: t.Array(Job, { description: "All of them" }) }, { title: "Jobs" });
