import { CATALOGUE, type ProviderKey } from "#modules/issuance/dns/rules/providers";
import { FIELDS } from "#modules/issuance/issuers/rules/kinds";
import { type Field, type FieldKind, labelOf, type Values } from "../../parts/fields";
import type { Issuer } from "./types";

type Kind = Issuer["kind"];
type Described = { name: string; type: string; required: boolean; default?: unknown; enum?: readonly unknown[] | undefined; description?: string };

/** How an ACME issuer proves control of names: of an order, the first that can. */
export const PROOFS = { http: "http-01: over HTTP", dns: "dns-01: by a record in the DNS", both: "http-01, and dns-01 for wildcards" } as const;
export type Proof = keyof typeof PROOFS;
export const PROVIDERS = CATALOGUE.map(({ key, displayName, isExperimental }) => ({
  key,
  name: isExperimental ? `${displayName} (experimental)` : displayName,
}));

type Challenge = { type: string; provider?: ProviderKey } & Values;
const challengesOf = ({ config }: Issuer) => (config.challenges ?? []) as Challenge[];
export const dnsChallengeOf = (issuer: Issuer) => challengesOf(issuer).find(({ type }) => type === "dns-01");

export function proofOf(issuer: Issuer): Proof {
  const hasHttp = challengesOf(issuer).some(({ type }) => type === "http-01");
  return dnsChallengeOf(issuer) ? (hasHttp ? "both" : "dns") : "http";
}

const HINTS: Record<string, string> = {
  directoryUrl: "The address of the CA's directory, such as https://acme-v02.api.letsencrypt.org/directory",
  contact: "Mail addresses, one a line: the CA writes there.",
  termsOfServiceAgreed: "Most CAs make no account without it.",
  caBundlePem: "PEM of what the directory's own certificate is checked by, where the CA is not a public one.",
  preferredChain: "Common name of the root that the chain shall lead to.",
  profile: "Which of the issuer's profiles, an authority's first one where none is named; an order may name another.",
  externalAccountKeyId: "Where the CA gave you a key for your account, its id.",
  externalAccountHmacKey: "… and the key itself, in base64url.",
  accountKeyPem: "PEM of an account key that you have; one is made otherwise.",
  nextAccountKeyPem: "PEM: the account's key is changed to it at the CA.",
};
const KINDS: Record<string, FieldKind> = { boolean: "boolean", "array<email>": "lines", "array<string>": "lines" };

/** "caBundlePem" reads "CA bundle PEM". */
const nameOf = (name: string) => labelOf(name).replace(/\b(ca|url|pem|hmac|id|tsig|api|aws)\b/gi, (word) => word.toUpperCase());

function show({ name, type, required, enum: options, description }: Described, isSecret: boolean): Field {
  const hint = description ?? HINTS[name];
  const kind = options ? "select" : name.endsWith("Pem") ? "textarea" : isSecret ? "password" : (KINDS[type] ?? "text");
  return { name, label: nameOf(name), kind, required, ...(hint && { hint }), ...(options && { options: options.map(String) }) };
}

type Choice = { kind: Kind; proof: Proof; provider: ProviderKey | "" };
const fieldsOf = ({ kind, proof, provider }: Choice) => {
  const dns = kind === "acme" && proof !== "http" ? CATALOGUE.find(({ key }) => key === provider) : undefined;
  // The authority is chosen by its name, beside the form.
  const config: readonly Described[] = FIELDS[kind].configFields.filter(({ name }) => name !== "authorityId");
  const secrets: Described[] = [...FIELDS[kind].secretFields, ...(dns?.secretFields ?? [])];
  const dnsConfig: readonly Described[] = dns?.configFields ?? [];
  return { config, dns: dnsConfig, secrets };
};

/** The form's fields. Secrets that are kept already may stay empty. */
export function issuerFields(choice: Choice, kept: string[] = []): Field[] {
  const { config, dns, secrets } = fieldsOf(choice);
  const hidden = (field: Described) => ({ ...field, required: field.required && !kept.includes(field.name) });
  const sealed = (field: Field) => (kept.includes(field.name) ? { ...field, hint: "Kept, sealed: leave it empty and it stays." } : field);
  return [
    { name: "name", label: "Name", kind: "text", required: true },
    ...config.map((field) => show(field, false)),
    ...dns.map((field) => ({ ...show(field, false), label: `DNS: ${nameOf(field.name)}` })),
    ...secrets.map((field) => sealed(show(hidden(field), true))),
  ];
}

export function issuerDefaults(choice: Choice): Values {
  const { config, dns } = fieldsOf(choice);
  return Object.fromEntries([...config, ...dns].flatMap(({ name, default: usual }) => (usual === undefined ? [] : [[name, usual]])));
}

const isGiven = (value: unknown) => value !== undefined && !(Array.isArray(value) && value.length === 0);
const pick = (fields: readonly Described[], values: Values) =>
  Object.fromEntries(fields.flatMap(({ name }) => (isGiven(values[name]) ? [[name, values[name]]] : [])));

/** The body that the values of the form make. */
export function readIssuer(choice: Choice, values: Values, authorityId: string) {
  const { config, dns, secrets } = fieldsOf(choice);
  const proofs = [
    ...(choice.proof === "dns" ? [] : [{ type: "http-01" }]),
    ...(dns.length > 0 ? [{ type: "dns-01", provider: choice.provider, ...pick(dns, values) }] : []),
  ];
  const own: Values = choice.kind === "acme" ? { challenges: proofs } : { authorityId };
  return { name: values.name, config: { ...pick(config, values), ...own }, secrets: pick(secrets, values) };
}
