import type { Limits } from "#outbound/http-client";
import { DnsFault } from "../rules/fault";
import type { ProviderKey } from "../rules/providers";
import type { DnsSettings } from "../rules/settings";
import { readDnsName } from "../rules/wire/names";
import { createLookups } from "./lookups";
import { findVisible, type Visible } from "./propagation";
import type { Context, Placed, Proof, Provider } from "./provider";
import { createAcmeDns } from "./providers/acme-dns";
import { createCloudflare } from "./providers/cloudflare";
import { createHttpreq } from "./providers/httpreq";
import { createRfc2136 } from "./providers/rfc2136";
import { createRoute53 } from "./providers/route53";

const PROVIDERS: Record<ProviderKey, (context: Context) => Provider> = {
  rfc2136: createRfc2136,
  "acme-dns": createAcmeDns,
  httpreq: createHttpreq,
  cloudflare: createCloudflare,
  route53: createRoute53,
};

/** How long placing or removing one record may take, and asking for it. */
const LIMIT_MS = 30_000;

type SolverSettings = DnsSettings & {
  allowPrivate: boolean;
  clock?: () => Date;
  /** Port of the name servers that NS records name: 53, but in a lab. */
  nameserverPort?: number;
};

/** Proves control of names over DNS, with settings that `readDnsSettings` has read. */
export function createDnsSolver({ provider, config, secrets, allowPrivate, clock = () => new Date(), nameserverPort }: SolverSettings) {
  const lookups = createLookups({ config, allowPrivate, nameserverPort });
  const { add, remove } = PROVIDERS[provider]({ config, secrets, lookups, clock });

  function read(text: string) {
    const name = readDnsName(text);
    if (!name) throw new DnsFault(`${text} is no DNS name.`, { isFinal: true });
    return name;
  }
  const follow = async (name: string, signal: AbortSignal) => (config.followCname === false ? name : lookups.follow(name, signal));
  async function place(proof: Proof, signal: AbortSignal): Promise<Placed> {
    const name = read(proof.name);
    return { ...proof, name, target: proof.target ?? (await follow(name, signal)) };
  }
  const limit = (signal: AbortSignal): Limits => ({ allowPrivate, signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]) });

  return {
    /** Returns where a proof of this name is published: where CNAMEs lead it. Throws a DnsFault. */
    locate: (name: string, signal: AbortSignal) => follow(read(name), limit(signal).signal),
    /** Publishes the proof. Throws a DnsFault. */
    async present(proof: Proof, signal: AbortSignal): Promise<void> {
      const limits = limit(signal);
      await add(await place(proof, limits.signal), limits);
    },
    /** Takes the proof away; one that is gone is no fault. Throws a DnsFault. */
    async remove(proof: Proof, signal: AbortSignal): Promise<void> {
      const limits = limit(signal);
      await remove(await place(proof, limits.signal), limits);
    },
    /** Returns whether every authoritative server shows the proof, and if not, why. */
    async isVisible(proof: Proof, signal: AbortSignal): Promise<Visible> {
      const limits = limit(signal);
      try {
        const target = await follow(read(proof.name), limits.signal); // where the CA looks, whatever was located
        return await findVisible({ config, lookups }, { target, value: proof.value }, limits);
      } catch (error) {
        if (error instanceof DnsFault) return { visible: false, reason: error.message };
        throw error;
      }
    },
  };
}
