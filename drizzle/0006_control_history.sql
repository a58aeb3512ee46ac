ALTER TABLE "control_changes" DROP CONSTRAINT "control_changes_organization_id_control_id_id_pk";--> statement-breakpoint
ALTER TABLE "control_changes" ADD COLUMN "version" integer NOT NULL;--> statement-breakpoint
ALTER TABLE "control_changes" DROP COLUMN "id";--> statement-breakpoint
ALTER TABLE "control_changes" ADD CONSTRAINT "control_changes_organization_id_control_id_version_pk" PRIMARY KEY("organization_id","control_id","version");
