import { Problem, Unusable } from "../rules/problems";
import type { Account } from "../rules/progress";
import type { AcmeSettings } from "../rules/settings";
import { type AccountKey, bindAccount } from "./account-key";
import type { Client, Signer } from "./directory";

/**
 * Returns the signer for the account of a key: the one that is kept, or that the directory has of this key, or a new one. New
 * contacts go to the directory, a new account to `save`.
 */
export async function ensureAccount(client: Client, key: AccountKey, settings: AcmeSettings, kept: unknown, save: (account: Account) => Promise<void>) {
  const saved = kept as Account | null | undefined;
  const { directoryUrl, contact } = settings;
  const known = saved?.directoryUrl === directoryUrl && saved.thumbprint === key.thumbprint ? saved : undefined;
  const accountUrl = known?.url ?? (await register(client, key, settings));
  if (known && Bun.deepEquals(known.contact, contact)) return { key, accountUrl };
  if (known) await client.post(accountUrl, { contact }, { key, accountUrl });
  await save({ directoryUrl, url: accountUrl, thumbprint: key.thumbprint, contact });
  return { key, accountUrl };
}

/** Registers the key, which changes nothing where the directory has an account of it (RFC 8555, 7.3.1). */
async function register(client: Client, key: AccountKey, { contact, termsOfServiceAgreed, externalAccount }: AcmeSettings) {
  const { newAccount, meta } = await client.directory();
  if (meta.termsOfService && !termsOfServiceAgreed)
    throw new Unusable(`The CA asks to agree to its terms of service, ${meta.termsOfService.slice(0, 300)}: set termsOfServiceAgreed.`, true);
  if (meta.externalAccountRequired && !externalAccount)
    throw new Unusable("The CA registers accounts only with an external account binding: set externalAccountKeyId and externalAccountHmacKey.", true);
  const binding = externalAccount && { externalAccountBinding: await bindAccount(key, externalAccount, newAccount) };
  const { json, location } = await client.post(newAccount, { contact, ...(termsOfServiceAgreed && { termsOfServiceAgreed }), ...binding }, { key });
  if (typeof json.status === "string" && json.status !== "valid") throw ended(json.status);
  if (!location) throw new Unusable("The CA registered an account and does not say where it is.", true);
  return location;
}

/**
 * Has the account go by another key from now on (RFC 8555, 7.3.5). Where it already does, because a killed server came so far, nothing
 * happens.
 */
export async function rollOverKey(client: Client, { key, accountUrl }: Required<Signer>, next: AccountKey) {
  const { keyChange, newAccount } = await client.directory();
  if (!keyChange) throw new Unusable("The CA changes no account keys.", true);
  const inner = await next.sign({ account: accountUrl, oldKey: key.publicJwk }, { jwk: next.publicJwk, url: keyChange });
  try {
    await client.post(keyChange, inner, { key, accountUrl });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const found = await client.post(newAccount, { onlyReturnExisting: true }, { key: next }).catch(() => undefined);
    if (found?.location !== accountUrl) throw error;
  }
}

const ended = (status: string) => new Unusable(`The CA says that the account is ${status.slice(0, 50)}. Give the issuer another account key.`, true);
