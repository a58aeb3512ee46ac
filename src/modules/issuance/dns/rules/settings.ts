import { checkFields, type Values } from "#catalogue/fields";
import { hostFault } from "#outbound/address-policy";
import { endpointFault } from "./endpoint";
import { type ProviderKey, providerOf } from "./providers";
import { readDnsName } from "./wire/names";

export type DnsSettings = { provider: ProviderKey; config: Values; secrets: Values };
type SentSettings = { provider: ProviderKey; config: Values; secrets: Values };
/** The places of the config and the secrets in the body, for the sentence. */
type Rules = { allowPrivate: boolean; configAt: string; secretsAt: string };

const MAX_TEXT = 253;
const MAX_SECRET = 4_000;
/** A base64 key of at least 128 bits. */
const BASE64 = /^[A-Za-z0-9+/]{22,684}={0,2}$/;

/** The settings of a dns-01 solver as its provider wants them, or the first fault. Of the secrets only the provider's own are read. */
export function readDnsSettings({ provider, config, secrets }: SentSettings, { allowPrivate, configAt, secretsAt }: Rules): DnsSettings | { invalid: string } {
  const { configFields, secretFields } = providerOf(provider);
  const uriFault = allowPrivate ? undefined : (url: URL) => hostFault(url.hostname);
  const read = checkFields(configFields, config, { at: configAt, owner: provider, maxText: MAX_TEXT, ...(uriFault && { uriFault }) });
  if ("invalid" in read) return read;
  const fault = findFault(read.values, allowPrivate);
  if (fault) return { invalid: `${configAt}.${fault}.` };
  const own = Object.fromEntries(secretFields.flatMap(({ name }) => (Object.hasOwn(secrets, name) ? [[name, secrets[name]]] : [])));
  const opened = checkFields(secretFields, own, { at: secretsAt, owner: provider, maxText: MAX_SECRET });
  if ("invalid" in opened) return opened;
  const { tsigSecret } = opened.values;
  if (tsigSecret !== undefined && !BASE64.test(String(tsigSecret))) return { invalid: `${secretsAt}.tsigSecret must be base64 of at least 128 bits.` };
  return { provider, config: read.values, secrets: opened.values };
}

/** Returns a field's fault beyond its type. */
function findFault({ server, resolvers, nameservers, ...names }: Values, allowPrivate: boolean) {
  const { keyName, fullDomain } = names;
  const faults = [
    { name: "server", fault: server === undefined ? undefined : endpointFault(String(server), { allowPrivate, isAddress: false }) },
    ...Object.entries({ resolvers, nameservers }).map(([name, list = []]) => ({ name, fault: listFault(list as string[], allowPrivate) })),
    ...Object.entries({ keyName, fullDomain }).map(([name, text]) => ({ name, fault: text === undefined ? undefined : nameFault(String(text)) })),
  ];
  const found = faults.find(({ fault }) => fault !== undefined);
  return found && `${found.name} ${found.fault}`;
}

const MAX_SERVERS = 16;

function listFault(list: string[], allowPrivate: boolean) {
  if (list.length > MAX_SERVERS) return `must name at most ${MAX_SERVERS} servers`;
  return list.map((each) => endpointFault(each, { allowPrivate, isAddress: true })).find((fault) => fault !== undefined);
}

const nameFault = (text: string) => (readDnsName(text) ? undefined : "must be a DNS name");
