CREATE TABLE "pending_links" (
	"organization_id" uuid NOT NULL,
	"certificate_id" uuid NOT NULL,
	"due_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "pending_links_organization_id_certificate_id_pk" PRIMARY KEY("organization_id","certificate_id")
);
--> statement-breakpoint
CREATE INDEX "pending_links_due_at_index" ON "pending_links" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "certificates_issuers_index" ON "certificates" USING btree ("organization_id","subject_hash","not_after" DESC NULLS LAST,"id") WHERE is_ca or self_signed;--> statement-breakpoint
CREATE INDEX "certificates_orphans_index" ON "certificates" USING btree ("organization_id","issuer_hash","id") WHERE issuer_id is null and not self_signed;