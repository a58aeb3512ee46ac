import type { Field, Values } from "#catalogue/fields";
import { WAYS } from "./auth-methods";
import { type Connector, connectorOf, type Kind } from "./kinds";

/** Names of fields that are an address or part of one, say whom to trust, or how to prove who is calling. */
const BY_NAME = /^(host|port|security|auth[A-Z]\w*)$|(Host|Port|Endpoint|Pem|Fingerprint)$|tls|ssl|verify|insecure|proxy/i;

/** Returns the config fields of a kind that decide where its secrets are sent, how, and whom the connection trusts. */
export function destinationFields(kind: string): string[] {
  const connector = connectorOf(kind);
  const inAddress = new Set([...placeholders(connector), ...fieldsOfAddresses(connector.key as Kind)]);
  const decides = (field: Field) => field.type === "uri" || BY_NAME.test(field.name) || inAddress.has(field.name) || choosesSecret(field, connector);
  return connector.configFields.filter(decides).map(({ name }) => name);
}

/** Fields that are filled into an address of the catalogue, such as https://acm.{region}.amazonaws.com. */
function placeholders({ verify }: Connector) {
  const addresses = `${verify?.base} ${verify?.note}`.match(/https?:\/\/\S+/g) ?? [];
  return addresses.flatMap((address) => [...address.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name));
}

/** Returns the fields by which a way of authenticating is chosen that has an address of its own. */
const fieldsOfAddresses = (kind: Kind) => (WAYS[kind]?.some(({ base }) => base) ? WAYS[kind].flatMap(({ when = {} }) => Object.keys(when)) : []);

/** True where the secrets' descriptions name a value of the field: "For approle". */
const choosesSecret = ({ enum: values = [] }: Field, { secretFields }: Connector) =>
  secretFields.some(({ description = "" }) => values.some((value) => new RegExp(`^For (\\w+ )?${value}\\b`).test(description)));

type Kept = { kind: string; config: Values; secretNames: string[] };

/** Returns the fault of a change that would send kept secrets to another destination: they must be sent again, or removed. */
export function destinationFault({ kind, config: current, secretNames }: Kept, config: Values, sent: Values = {}) {
  const changed = destinationFields(kind).filter((name) => !Bun.deepEquals(config[name], current[name]));
  const kept = secretNames.filter((name) => !Object.hasOwn(sent, name));
  if (changed.length === 0 || kept.length === 0) return;
  const [secrets, fields] = [kept.map((name) => `body.secrets.${name}`).join(", "), changed.map((name) => `body.config.${name}`).join(", ")];
  return `${secrets} must be sent again (or null, to remove it): a change of ${fields} decides where secrets are sent and whom the connection trusts.`;
}
