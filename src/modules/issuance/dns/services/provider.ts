import type { Values } from "#catalogue/fields";
import type { Limits } from "#outbound/http-client";
import type { Lookups } from "./lookups";

/**
 * A proof for a certificate authority: `name` is _acme-challenge.<domain>, `target` its target when located. The token and the
 * key authorization are for providers that make the value themselves.
 */
export type Proof = { name: string; value: string; target?: string | undefined; token?: string | undefined; keyAuthorization?: string | undefined };
/** `target` is where the record stands: the name, or where it leads. */
export type Placed = Omit<Proof, "target"> & { target: string };

/** A provider of DNS records. Both methods throw a DnsFault, and each may be repeated. */
export type Provider = {
  add(placed: Placed, limits: Limits): Promise<void>;
  /** Removes this value, and leaves others of the same name. */
  remove(placed: Placed, limits: Limits): Promise<void>;
};
export type Context = { config: Values; secrets: Values; lookups: Lookups; clock: () => Date };
