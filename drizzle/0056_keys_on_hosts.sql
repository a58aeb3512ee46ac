ALTER TABLE "assignments" ADD COLUMN "key_on_host" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "certificate_requests" ADD COLUMN "stamp" "bytea";