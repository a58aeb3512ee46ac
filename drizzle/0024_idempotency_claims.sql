-- Notes in a write's own transaction that it was done for a claim; fails where another attempt has taken the claim over.
CREATE FUNCTION "hold_claim"(uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	UPDATE public.idempotency_keys SET is_done = true WHERE claim_id = $1;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another attempt has taken this request over' USING ERRCODE = 'serialization_failure';
	END IF;
	RETURN true;
END $$;
