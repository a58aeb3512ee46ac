import type { Keyring } from "./keyring";

type Values = Record<string, unknown>;

/** Returns a record as one sealed JSON text; null where it is empty. */
export const sealRecord = (keyring: Keyring, values: Values, context: string) =>
  Object.keys(values).length === 0 ? null : keyring.seal(JSON.stringify(values), context);

/** Returns the record, or undefined when no key opens it in this context. */
export function openRecord(keyring: Keyring, sealed: Uint8Array | null, context: string): Values | undefined {
  if (sealed === null) return {};
  try {
    return JSON.parse(keyring.unseal(sealed, context));
  } catch {
    return;
  }
}
