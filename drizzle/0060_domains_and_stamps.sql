CREATE TABLE "domain_holders" (
	"domain" text PRIMARY KEY NOT NULL,
	"organization_id" uuid,
	"until" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "acme_http_answers" ADD COLUMN "name" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "acme_http_answers" ADD COLUMN "domain" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "authorities" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "issuers" ADD COLUMN "stamp" "bytea";