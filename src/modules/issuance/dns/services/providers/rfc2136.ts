import type { Limits } from "#outbound/http-client";
import { codeFault, NOERROR, NXDOMAIN, REFUSED } from "../../rules/codes";
import { DNS_PORT, readEndpoint } from "../../rules/endpoint";
import { DnsFault } from "../../rules/fault";
import { answerFault, signMessage, type TsigKey } from "../../rules/tsig";
import { CLASS, encodeMessage, encodeText, type Message, type NewRecord, OPCODE, TYPE } from "../../rules/wire/messages";
import { readDnsName } from "../../rules/wire/names";
import { askByTcp, nameOf, newId } from "../ask";
import { parentOf, zoneIn } from "../lookups";
import type { Context, Placed, Provider } from "../provider";

const TTL = 60;

/** Changes a zone by DNS UPDATE (RFC 2136), signed by TSIG (RFC 8945), over TCP. */
export function createRfc2136({ config, secrets, clock }: Context): Provider {
  const server = readEndpoint(String(config.server)) ?? { host: String(config.server), port: DNS_PORT };
  const key: TsigKey = {
    name: readDnsName(String(config.keyName)) ?? "",
    algorithm: config.algorithm as TsigKey["algorithm"],
    secret: Buffer.from(String(secrets.tsigSecret), "base64"),
  };
  const label = nameOf(server);

  /** Sends a signed request, and returns its answer, whose signature holds. */
  async function askSigned(request: Buffer, limits: Limits): Promise<Message> {
    const { bytes, mac } = signMessage(request, key, clock());
    const answer = await askByTcp(server, bytes, limits);
    const fault = answerFault(answer, key, mac, clock(), label);
    if (fault) throw fault;
    return answer.message;
  }

  /** Returns the zone of a name, as its own server knows it. Where the name is a CNAME, only a name above it has it. */
  async function findZone(name: string, limits: Limits) {
    for (let at: string | undefined = name; at; at = parentOf(at)) {
      const answer = await askSigned(encodeMessage({ id: newId(), question: { name: at, type: TYPE.SOA } }), limits);
      if (![NOERROR, NXDOMAIN, REFUSED].includes(answer.code)) throw codeFault(label, answer.code, `for the zone of ${name}`);
      if (!answer.isAuthoritative) break;
      const zone = zoneIn(answer, at);
      if (zone !== undefined) return zone;
    }
    throw new DnsFault(`${label} is not the authority of any zone that ${name} is in.`, { isFinal: true });
  }

  async function update({ target, value }: Placed, change: Pick<NewRecord, "class" | "ttl">, limits: Limits) {
    const zone = await findZone(target, limits);
    const record = { name: target, type: TYPE.TXT, data: encodeText(value), ...change };
    const request = encodeMessage({ id: newId(), opcode: OPCODE.UPDATE, question: { name: zone, type: TYPE.SOA }, updates: [record] });
    const { code } = await askSigned(request, limits);
    if (code !== NOERROR) throw codeFault(label, code, `to change ${target} in the zone ${zone}`);
  }

  return {
    add: (placed, limits) => update(placed, { class: CLASS.IN, ttl: TTL }, limits),
    remove: (placed, limits) => update(placed, { class: CLASS.NONE, ttl: 0 }, limits),
  };
}
