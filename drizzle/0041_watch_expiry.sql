CREATE TABLE "expiry_policies" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"thresholds" jsonb NOT NULL,
	"overrides" jsonb NOT NULL,
	"role" "member_role" NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "expiry_reviews" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"reviewed_up_to" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "expiry_tellings" (
	"organization_id" uuid NOT NULL,
	"certificate_id" uuid NOT NULL,
	"addressee" uuid NOT NULL,
	"days" integer NOT NULL,
	"told_at" timestamp (3) with time zone,
	CONSTRAINT "expiry_tellings_organization_id_certificate_id_addressee_days_pk" PRIMARY KEY("organization_id","certificate_id","addressee","days")
);
--> statement-breakpoint
CREATE TABLE "expiry_watch" (
	"organization_id" uuid NOT NULL,
	"certificate_id" uuid NOT NULL,
	"due_at" timestamp (3) with time zone,
	"names_hash" uuid NOT NULL,
	"not_after" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "expiry_watch_organization_id_certificate_id_pk" PRIMARY KEY("organization_id","certificate_id")
);
--> statement-breakpoint
ALTER TABLE "notices" ADD COLUMN "link" text;--> statement-breakpoint
CREATE INDEX "expiry_tellings_untold_index" ON "expiry_tellings" USING btree ("organization_id","addressee","days") WHERE told_at is null;--> statement-breakpoint
CREATE INDEX "expiry_watch_due_index" ON "expiry_watch" USING btree ("due_at") WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX "expiry_watch_organization_id_names_hash_not_after_index" ON "expiry_watch" USING btree ("organization_id","names_hash","not_after");
--> statement-breakpoint
INSERT INTO "expiry_reviews" SELECT "id", '00000000-0000-0000-0000-000000000000' FROM "organizations";
