CREATE TABLE "job_runs" (
	"name" text PRIMARY KEY NOT NULL,
	"server" text NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone,
	"duration_ms" integer,
	"outcome" text,
	"succeeded_at" timestamp (3) with time zone,
	"failed_at" timestamp (3) with time zone,
	"failure" text,
	"runs" bigint NOT NULL,
	"failures" bigint NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL
);
