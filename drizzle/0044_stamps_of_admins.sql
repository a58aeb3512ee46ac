ALTER TABLE "api_tokens" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "api_tokens" ADD COLUMN "held_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "stamp" "bytea";--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "held_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "platform_admin_stamp" "bytea";--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "platform_admin_held_since" timestamp (3) with time zone;