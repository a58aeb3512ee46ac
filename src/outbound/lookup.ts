import type { LookupFunction } from "node:net";
import { isPublicAddress } from "./address-policy";
import { failure } from "./failure";
import { followNameServers } from "./name-servers";

/**
 * Looks a name up like `dns.lookup`, with the hosts file, but by c-ares: the system's function blocks one of the few threads
 * until a name server answers, and these also verify tokens.
 */
const createLookup =
  (isAllowed: (address: string) => boolean): LookupFunction =>
  (hostname, { all, family }, done) => {
    followNameServers();
    const found = Bun.dns.lookup(hostname, { backend: "c-ares", family: family === 4 || family === 6 ? family : 0 });
    const take = (addresses: Bun.DNSLookup[]) => {
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isAllowed(address))) return done(failure("PRIVATE_TARGET"), []);
      if (all) done(null, addresses);
      else done(null, first.address, first.family);
    };
    found.then(take, (error) => done(error, []));
  };

const lookUpAny = createLookup(() => true);
/** A name that leads to any address which is not public leads nowhere. */
const lookUpPublic = createLookup(isPublicAddress);

/** Returns how the names of others are looked up. */
export const lookupFor = ({ allowPrivate }: { allowPrivate: boolean }) => (allowPrivate ? lookUpAny : lookUpPublic);
