ALTER TABLE "control_changes" DROP CONSTRAINT "control_changes_organization_id_control_id_id_pk";--> statement-breakpoint
ALTER TABLE "control_changes" ADD COLUMN "version" integer;--> statement-breakpoint
UPDATE "control_changes" AS c SET "version" = n.place
FROM (SELECT organization_id, control_id, id, row_number() OVER (PARTITION BY organization_id, control_id ORDER BY at, id) AS place FROM "control_changes") AS n
WHERE (n.organization_id, n.control_id, n.id) = (c.organization_id, c.control_id, c.id);--> statement-breakpoint
ALTER TABLE "control_changes" ALTER COLUMN "version" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "control_changes" DROP COLUMN "id";--> statement-breakpoint
ALTER TABLE "control_changes" ADD CONSTRAINT "control_changes_organization_id_control_id_version_pk" PRIMARY KEY("organization_id","control_id","version");
