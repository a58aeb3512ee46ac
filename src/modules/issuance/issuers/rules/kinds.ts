import type { Field } from "#catalogue/fields";

export const ISSUER_KINDS = ["acme", "internal"] as const;
export type IssuerKind = (typeof ISSUER_KINDS)[number];

/** `goesBy` names the config fields that decide where the secret goes: where one of them changes, it must be sent again. */
export type SecretField = Field & { goesBy: readonly string[] };
type Fields = { configFields: readonly Field[]; secretFields: readonly SecretField[] };

const text = (name: string, rest: Partial<Field> = {}): Field => ({ name, type: "string", required: false, ...rest });

/** The config and secrets of each kind of issuer; the challenges of ACME are in `challenges.ts`. */
export const FIELDS: Record<IssuerKind, Fields> = {
  acme: {
    configFields: [
      text("directoryUrl", { type: "uri", required: true }),
      text("contact", { type: "array<email>", default: [] }),
      text("termsOfServiceAgreed", { type: "boolean", default: false }),
      text("caBundlePem"),
      text("preferredChain"),
      text("profile"),
      text("externalAccountKeyId"),
    ],
    secretFields: [
      // A directory only ever sees what the key has signed.
      { ...text("accountKeyPem"), goesBy: [] },
      // Becomes the account key once the directory has changed the account's key to it.
      { ...text("nextAccountKeyPem"), goesBy: [] },
      { ...text("externalAccountHmacKey"), goesBy: ["directoryUrl", "caBundlePem"] },
    ],
  },
  internal: {
    configFields: [text("authorityId", { type: "uuid", required: true }), text("profile")],
    secretFields: [],
  },
};
