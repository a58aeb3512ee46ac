DROP INDEX "renewals_issuer_index";--> statement-breakpoint
CREATE INDEX "certificate_requests_order_index" ON "certificate_requests" USING btree ("organization_id","issuer_id",(progress->>'orderUrl')) WHERE progress is not null;--> statement-breakpoint
CREATE INDEX "alerts_standing_index" ON "alerts" USING btree ("organization_id","subject_id") WHERE state <> 'cleared';--> statement-breakpoint
CREATE INDEX "renewals_open_of_issuer_index" ON "renewals" USING btree ("organization_id","issuer_id","renew_at","certificate_id") WHERE state in ('scheduled', 'ordered', 'failed', 'issued');--> statement-breakpoint
CREATE INDEX "renewals_ended_of_issuer_index" ON "renewals" USING btree ("organization_id","issuer_id","state","renew_at","certificate_id") WHERE state in ('renewed', 'ended');