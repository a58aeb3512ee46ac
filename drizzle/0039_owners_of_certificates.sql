CREATE TABLE "certificate_labels" (
	"organization_id" uuid NOT NULL,
	"key" text NOT NULL,
	"value" text NOT NULL,
	"not_after" timestamp (3) with time zone NOT NULL,
	"certificate_id" uuid NOT NULL,
	CONSTRAINT "certificate_labels_pk" PRIMARY KEY("organization_id","key","value","not_after","certificate_id")
);
--> statement-breakpoint
ALTER TABLE "certificates" ADD COLUMN "owner_id" uuid;--> statement-breakpoint
ALTER TABLE "certificates" ADD COLUMN "contacts" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "certificates" ADD COLUMN "labels" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "certificates" ADD COLUMN "notes" text;--> statement-breakpoint
CREATE INDEX "certificates_owned_index" ON "certificates" USING btree ("organization_id","owner_id","not_after","id") WHERE owner_id is not null;--> statement-breakpoint
CREATE INDEX "certificates_unowned_index" ON "certificates" USING btree ("organization_id","not_after","id") WHERE owner_id is null;--> statement-breakpoint
CREATE INDEX "certificates_issuer_index" ON "certificates" USING btree ("organization_id",hashtextextended(issuer, 0),"not_after","id");--> statement-breakpoint
CREATE INDEX "certificates_serial_number_index" ON "certificates" USING btree ("organization_id",hashtextextended(facts->>'serialNumber', 0),"not_after","id");