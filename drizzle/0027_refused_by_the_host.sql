-- Why an assignment is not as it should be; null when it is. What the host's policy refuses is a reason of its own.
CREATE OR REPLACE FUNCTION "drift_reason"("enabled" boolean, "state" text, "reported" text, "fingerprint" text, "reported_at" timestamptz, "updated_at" timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN CASE
  WHEN "state" IS NULL THEN CASE WHEN "enabled" THEN 'never_reported' END
  WHEN "state" IN ('failed', 'drifted', 'refused') THEN "state"
  WHEN NOT "enabled" THEN CASE WHEN "state" <> 'removed' THEN 'not_removed' END
  WHEN "state" <> 'installed' THEN 'not_installed'
  WHEN "reported" <> "fingerprint" THEN 'other_certificate'
  WHEN "reported_at" < "updated_at" THEN 'outdated' END;
