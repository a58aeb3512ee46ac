CREATE TABLE "acme_http_answers" (
	"token" text PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"request_id" uuid NOT NULL,
	"key_authorization" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "acme_http_answers_organization_id_request_id_index" ON "acme_http_answers" USING btree ("organization_id","request_id");