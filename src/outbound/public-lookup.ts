import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { isPublicAddress } from "./address-policy";
import { failure } from "./failure";

/** As dns.lookup, but a name that leads to any address which is not public leads nowhere. */
export const lookUpPublic: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) return done(error, []);
    const [first] = found;
    if (!first || found.some(({ address }) => !isPublicAddress(address))) return done(failure("PRIVATE_TARGET"), []);
    if (options.all) done(null, found);
    else done(null, first.address, first.family);
  });
};
