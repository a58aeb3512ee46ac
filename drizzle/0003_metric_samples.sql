-- One partition a month, made ahead by the server; what no month holds (older samples) goes to the default one.
CREATE TABLE "metric_samples" (
	"organization_id" uuid NOT NULL,
	"system_id" uuid NOT NULL,
	"metric" text NOT NULL,
	"recorded_at" timestamp (3) with time zone NOT NULL,
	"labels" jsonb NOT NULL,
	"labels_hash" bigint NOT NULL,
	"value" double precision NOT NULL,
	"unit" text,
	CONSTRAINT "metric_samples_pk" PRIMARY KEY ("organization_id", "system_id", "metric", "recorded_at", "labels_hash")
) PARTITION BY RANGE ("recorded_at");
--> statement-breakpoint
CREATE TABLE "metric_samples_default" PARTITION OF "metric_samples" DEFAULT;
