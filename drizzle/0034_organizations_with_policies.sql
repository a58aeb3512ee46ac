-- Whether an organization has a policy. Volatile, as policy_at, to which it spares most calls.
CREATE FUNCTION "has_policies"("organization" uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM "assignment_policies" WHERE organization_id = $1);
END $$;
