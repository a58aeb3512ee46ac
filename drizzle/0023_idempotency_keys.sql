CREATE TABLE "idempotency_keys" (
	"caller" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"claim_id" uuid NOT NULL,
	"is_done" boolean DEFAULT false NOT NULL,
	"answer" "bytea",
	"size" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"alive_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_caller_key_hash_pk" PRIMARY KEY("caller","key_hash")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "idempotency_keys_claim_id_index" ON "idempotency_keys" USING btree ("claim_id");--> statement-breakpoint
CREATE INDEX "idempotency_keys_caller_created_at_index" ON "idempotency_keys" USING btree ("caller","created_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at_index" ON "idempotency_keys" USING btree ("created_at");