CREATE TABLE "host_challenges" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"request_id" uuid NOT NULL,
	"name" text NOT NULL,
	"token" text NOT NULL,
	"thumbprint" text NOT NULL,
	"stamp" "bytea",
	"shown_at" timestamp (3) with time zone,
	"fault" text,
	CONSTRAINT "host_challenges_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "host_challenges_organization_id_request_id_token_index" ON "host_challenges" USING btree ("organization_id","request_id","token");