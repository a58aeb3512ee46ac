import { getServers } from "node:dns";
import type { Values } from "#catalogue/fields";
import { followNameServers } from "#outbound/name-servers";
import { codeFault, NOERROR, NXDOMAIN } from "../rules/codes";
import { DNS_PORT, describeEndpoint, type Endpoint, readEndpoint } from "../rules/endpoint";
import { DnsFault } from "../rules/fault";
import { type DnsRecord, type Message, type RecordType, TYPE } from "../rules/wire/messages";
import { readDnsName } from "../rules/wire/names";
import { ask } from "./ask";

/** CNAMEs that one name may lead through. */
const MAX_CNAMES = 8;
const MAX_NAMESERVERS = 16;
const MAX_ADDRESSES = 8;

/** A name server of a zone. Without addresses, it cannot be asked. */
export type Nameserver = { name: string; addresses: Endpoint[] };
export type Lookups = ReturnType<typeof createLookups>;
/** `nameserverPort`: where the name servers that NS records name listen, 53 but in a lab. */
type LookupSettings = { config: Values; allowPrivate: boolean; nameserverPort?: number | undefined };

/** The lookups by resolvers: the targets of names, their zones, and the servers of a zone. */
export function createLookups({ config, allowPrivate, nameserverPort = DNS_PORT }: LookupSettings) {
  const chosen = config.resolvers as string[] | undefined;
  const isChosen = chosen !== undefined && chosen.length > 0;
  followNameServers();
  const resolvers = toEndpoints(isChosen ? chosen : getServers());
  // The machine's own resolvers are its operator's choice, and mostly private.
  const mayAskPrivate = allowPrivate || !isChosen;

  /** Asks one resolver after the other, until one knows the name or knows that it does not exist. */
  async function resolve(name: string, type: RecordType, signal: AbortSignal): Promise<Message> {
    let fault = new DnsFault("This server has no resolver to look names up with.");
    for (const resolver of resolvers) {
      const label = `The resolver ${describeEndpoint(resolver)}`;
      try {
        const answer = await ask(resolver, { name, type, isRecursive: true }, { allowPrivate: mayAskPrivate, signal }, label);
        if (answer.code === NOERROR || answer.code === NXDOMAIN) return answer;
        fault = new DnsFault(codeFault(label, answer.code, `for ${name}`).message);
      } catch (error) {
        if (!(error instanceof DnsFault)) throw error;
        fault = error;
      }
    }
    throw fault;
  }

  /** Returns where a name leads by CNAMEs; itself, where it has none. */
  async function follow(name: string, signal: AbortSignal): Promise<string> {
    const seen = [name];
    for (let last = name; ; last = seen.at(-1) ?? name) {
      const { answers } = await resolve(last, "CNAME", signal);
      const next = answers.find((each) => each.type === TYPE.CNAME && each.name === last)?.value;
      if (next === undefined) return last;
      if (seen.includes(next)) throw new DnsFault(`The CNAMEs of ${name} lead in a circle: ${[...seen, next].join(" → ")}.`, { isFinal: true });
      if (!readDnsName(next)) throw new DnsFault(`${last} leads to ${next}, which is no name that a record can be written at.`, { isFinal: true });
      if (seen.length > MAX_CNAMES) throw new DnsFault(`${name} leads through more than ${MAX_CNAMES} CNAMEs.`, { isFinal: true });
      seen.push(next);
    }
  }

  /** Returns the zone that a name is in. */
  async function findZone(name: string, signal: AbortSignal): Promise<string> {
    for (let at: string | undefined = name; at; at = parentOf(at)) {
      const zone = zoneIn(await resolve(at, "SOA", signal), at);
      if (zone !== undefined) return zone;
    }
    throw new DnsFault(`No zone is found that ${name} is in.`);
  }

  /** Returns the name servers of a zone, with the addresses that this server may ask. */
  async function findNameservers(zone: string, signal: AbortSignal): Promise<Nameserver[]> {
    const { answers } = await resolve(zone, "NS", signal);
    const names = new Set(valuesOf(answers, "NS", zone));
    return Promise.all([...names].slice(0, MAX_NAMESERVERS).map(async (name) => ({ name, addresses: await findAddresses(name, signal) })));
  }

  async function findAddresses(name: string, signal: AbortSignal): Promise<Endpoint[]> {
    if (!readDnsName(name)) return [];
    const found = await Promise.all((["A", "AAAA"] as const).map(async (type) => valuesOf((await resolve(name, type, signal)).answers, type)));
    return found.flatMap((hosts) => hosts.slice(0, MAX_ADDRESSES).map((host) => ({ host, port: nameserverPort })));
  }

  return { follow, findZone, findNameservers };
}

/** Returns the zone that an answer names as the one of a name; undefined where it names none. */
export function zoneIn({ answers, authorities }: Message, name: string) {
  const owners = [...answers, ...authorities].filter(({ type }) => type === TYPE.SOA).map((each) => each.name);
  return owners.find((owner) => owner !== "" && (name === owner || name.endsWith(`.${owner}`)));
}

export const toEndpoints = (texts: readonly string[]) => texts.flatMap((each) => readEndpoint(each) ?? []);

/** Returns the name above; undefined above the last label. */
export const parentOf = (name: string) => name.split(".").slice(1).join(".") || undefined;

const valuesOf = (records: readonly DnsRecord[], type: RecordType, owner?: string) =>
  records.flatMap((each) => (each.type === TYPE[type] && (owner === undefined || each.name === owner) ? (each.value ?? []) : []));
