import type { Values } from "#catalogue/fields";
import { Fault, Problem } from "#modules/issuance/acme/rules/problems";
import { openAccountKey } from "#modules/issuance/acme/services/account-key";
import { createClient, type Limits } from "#modules/issuance/acme/services/directory";
import { ACCEPTED, ANSWERED, type Outcome } from "../rules/outcome";

type Tested = { id: string; organization: { id: string }; settings: Values };

/** Asks an ACME directory for a nonce and, where there is an account key, for its account. Registers nothing. */
export async function testAccount({ id, organization, settings }: Tested, limits: Limits): Promise<Outcome> {
  const { directoryUrl, caBundlePem, accountPrivateKeyPem } = settings as Record<string, string | undefined>;
  const reached = { id, organizationId: organization.id, settings: { directoryUrl: String(directoryUrl), caBundlePem } };
  try {
    const client = createClient(new Map(), reached, limits);
    if (accountPrivateKeyPem === undefined) {
      await client.reach();
      return { outcome: "ok", message: ANSWERED };
    }
    const { newAccount } = await client.directory();
    await client.post(newAccount, { onlyReturnExisting: true }, { key: await openAccountKey(accountPrivateKeyPem) });
    return { outcome: "ok", message: ACCEPTED };
  } catch (error) {
    if (error instanceof Problem || error instanceof Fault) return { outcome: "failed", message: error.message };
    throw error;
  }
}
