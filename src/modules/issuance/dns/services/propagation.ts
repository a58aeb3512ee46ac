import type { Values } from "#catalogue/fields";
import { isPublicAddress } from "#outbound/address-policy";
import type { Limits } from "#outbound/http-client";
import { codeFault, NOERROR, NXDOMAIN } from "../rules/codes";
import { describeEndpoint, type Endpoint } from "../rules/endpoint";
import { DnsFault } from "../rules/fault";
import { TYPE } from "../rules/wire/messages";
import { ask } from "./ask";
import { type Lookups, type Nameserver, toEndpoints } from "./lookups";

export type Visible = { visible: true } | { visible: false; reason: string };
type Sought = { target: string; value: string };

/** Returns whether each authoritative server of `target`'s zone has the value; if not, which one lacks it, or why it could not be asked. */
export async function findVisible({ config, lookups }: { config: Values; lookups: Lookups }, sought: Sought, limits: Limits): Promise<Visible> {
  const servers = await findServers(config, lookups, sought.target, limits.signal);
  const lacks = await Promise.all(servers.map((server) => findLack(server, sought, limits)));
  const reason = lacks.find((lack) => lack !== undefined);
  return reason === undefined ? { visible: true } : { visible: false, reason };
}

async function findServers(config: Values, lookups: Lookups, target: string, signal: AbortSignal): Promise<Nameserver[]> {
  const given = config.nameservers as string[] | undefined;
  if (given?.length) return toEndpoints(given).map((endpoint) => ({ name: "The name server", addresses: [endpoint] }));
  const zone = await lookups.findZone(target, signal);
  const found = await lookups.findNameservers(zone, signal);
  if (found.length === 0) throw new DnsFault(`The zone ${zone} has no name servers.`);
  return found;
}

/** A server is asked at each of its addresses; where one cannot be reached, another one of the same server may answer for it. */
async function findLack({ name, addresses }: Nameserver, sought: Sought, limits: Limits): Promise<string | undefined> {
  if (addresses.length === 0) return `${name} has no address.`;
  const allowed = addresses.filter(({ host }) => limits.allowPrivate || isPublicAddress(host));
  if (allowed.length === 0) return `${name} has only private addresses, which this server does not ask (ALLOW_PRIVATE_TARGETS).`;
  const answers = await Promise.all(allowed.map((address) => askOne(address, `${name} (${describeEndpoint(address)})`, sought, limits)));
  const lack = answers.find((answer) => answer.state === "lacks");
  if (lack) return lack.reason;
  return answers.some(({ state }) => state === "has") ? undefined : answers[0]?.reason;
}

type Answered = { state: "has" | "lacks" | "unreachable"; reason?: string };

async function askOne(server: Endpoint, label: string, { target, value }: Sought, limits: Limits): Promise<Answered> {
  try {
    const { code, isAuthoritative, answers } = await ask(server, { name: target, type: "TXT", isRecursive: false }, limits, label);
    if (code !== NOERROR && code !== NXDOMAIN) return { state: "lacks", reason: codeFault(label, code, `for ${target}`).message };
    if (!isAuthoritative) return { state: "lacks", reason: `${label} is not an authority for ${target}.` };
    if (answers.some((each) => each.type === TYPE.TXT && each.name === target && each.value === value)) return { state: "has" };
    return { state: "lacks", reason: `${label} does not have the record of ${target} yet.` };
  } catch (error) {
    if (error instanceof DnsFault) return { state: "unreachable", reason: error.message };
    throw error;
  }
}
