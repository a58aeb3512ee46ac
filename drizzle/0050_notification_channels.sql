CREATE TYPE "public"."delivery_state" AS ENUM('pending', 'delivered', 'failed');--> statement-breakpoint
CREATE TABLE "notification_channels" (
	"organization_id" uuid NOT NULL,
	"connection_id" uuid NOT NULL,
	"due_at" timestamp (3) with time zone,
	"claimed_until" timestamp (3) with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp (3) with time zone,
	"last_reason" text,
	"told_at" timestamp (3) with time zone,
	CONSTRAINT "notification_channels_organization_id_connection_id_pk" PRIMARY KEY("organization_id","connection_id")
);
--> statement-breakpoint
CREATE TABLE "notification_deliveries" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"route_id" uuid NOT NULL,
	"connection_id" uuid NOT NULL,
	"content" jsonb NOT NULL,
	"incident_key" text,
	"is_resolve" boolean DEFAULT false NOT NULL,
	"is_test" boolean DEFAULT false NOT NULL,
	"state" "delivery_state" DEFAULT 'pending' NOT NULL,
	"attempts" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"recipients_done" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"reason" text,
	"next_attempt_at" timestamp (3) with time zone,
	"queued_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"tried_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "notification_deliveries_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "notification_incidents" (
	"organization_id" uuid NOT NULL,
	"condition" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"connection_id" uuid NOT NULL,
	"key" text NOT NULL,
	"route_id" uuid NOT NULL,
	CONSTRAINT "notification_incidents_pk" PRIMARY KEY("organization_id","condition","subject_id","connection_id","key")
);
--> statement-breakpoint
CREATE TABLE "notification_routes" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"kinds" jsonb,
	"severity" "notification_severity" DEFAULT 'info' NOT NULL,
	"selector" text,
	"selector_path" text,
	"connection_id" uuid,
	"user_ids" jsonb,
	"role" "member_role",
	"enabled" boolean DEFAULT true NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "notification_routes_organization_id_id_pk" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE INDEX "notification_channels_due_index" ON "notification_channels" USING btree ("due_at") WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX "notification_channels_failing_index" ON "notification_channels" USING btree ("failing_since") WHERE failing_since is not null and told_at is null;--> statement-breakpoint
CREATE INDEX "notification_deliveries_organization_id_route_id_id_index" ON "notification_deliveries" USING btree ("organization_id","route_id","id");--> statement-breakpoint
CREATE INDEX "notification_deliveries_state_index" ON "notification_deliveries" USING btree ("organization_id","route_id","state","id");--> statement-breakpoint
CREATE INDEX "notification_deliveries_pending_index" ON "notification_deliveries" USING btree ("organization_id","connection_id","next_attempt_at","id") WHERE state = 'pending';--> statement-breakpoint
CREATE INDEX "notification_deliveries_incident_index" ON "notification_deliveries" USING btree ("organization_id","connection_id","incident_key") WHERE state = 'pending' and incident_key is not null;--> statement-breakpoint
CREATE INDEX "notification_deliveries_created_at_index" ON "notification_deliveries" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "notification_incidents_organization_id_connection_id_key_index" ON "notification_incidents" USING btree ("organization_id","connection_id","key");--> statement-breakpoint
CREATE INDEX "notification_routes_organization_id_connection_id_index" ON "notification_routes" USING btree ("organization_id","connection_id");