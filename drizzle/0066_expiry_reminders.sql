ALTER TABLE "expiry_tellings" RENAME TO "expiry_reminders";--> statement-breakpoint
ALTER TABLE "expiry_reminders" RENAME COLUMN "told_at" TO "recorded_at";--> statement-breakpoint
ALTER TABLE "expiry_reminders" RENAME CONSTRAINT "expiry_tellings_organization_id_certificate_id_addressee_days_pk" TO "expiry_reminders_pk";--> statement-breakpoint
ALTER INDEX "expiry_tellings_untold_index" RENAME TO "expiry_reminders_unrecorded_index";--> statement-breakpoint
-- For the release before, which reads and writes by these names.
CREATE VIEW "expiry_tellings" AS SELECT "organization_id", "certificate_id", "addressee", "days", "recorded_at" AS "told_at" FROM "expiry_reminders";
