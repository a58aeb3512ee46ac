import { type Entry, holds } from "../host/entries";
import { foreign } from "../host/foreign";
import { fingerprintOf, presented } from "../host/pem";
import type { Material, Store, Target } from "../store";
import type { Transaction } from "../transaction/transaction";
import { type Database, locateDatabase, type NewEntry, openDatabase, readDatabase, type Tools } from "./nss-database";

/** Without a trust, any will do: only that it is there counts. */
type Wanted = Omit<NewEntry, "trust"> & { trust?: string };

/** The database of a user in which Chrome and Chromium look for anchors and client certificates. */
export const nssDatabase: Store = {
  async observe(target, material, host) {
    const database = await locateDatabase(target, host);
    const entries = await readDatabase(database, host);
    const wanted = wantedOf(target, material);
    const found = entries.find((each) => holds(each, material.fingerprint)) ?? entries.find(({ name }) => name === target.alias);
    const differences = wanted.flatMap((each) => faultOf(each, entries) ?? []).map((fault) => `${database.directory} ${fault}`);
    return { certificates: found?.certificates ?? [], differences, isForeign: found !== undefined && found.name !== target.alias };
  },

  async findRemains(target, { fingerprint }, host) {
    const database = await locateDatabase(target, host);
    const found = (await readDatabase(database, host)).filter((each) => holds(each, fingerprint));
    return found.map(({ name }) => `${database.directory} holds it as ${foreign(name)}`);
  },

  async install(target, material, transaction) {
    const database = await locateDatabase(target, transaction.host);
    const place = `${database.directory}#`;
    const tools = await openDatabase(database, transaction);
    for (const wanted of wantedOf(target, material)) {
      const entries = await readDatabase(database, transaction.host);
      if (faultOf(wanted, entries) === undefined) continue;
      const inTheWay = entries.filter((each) => each.name === wanted.name || holds(each, fingerprintOf(wanted.certificate)));
      refuseForeign(inTheWay, place, transaction);
      refuseAmbiguous(inTheWay, wanted.name, database);
      await transaction.claim(place + wanted.name, fingerprintOf(wanted.certificate));
      for (const each of inTheWay) await tools.erase(each);
      await tools.add({ trust: ",,", ...wanted });
    }
  },

  async remove(target, transaction) {
    const database = await locateDatabase(target, transaction.host);
    const place = `${database.directory}#`;
    const entries = await readDatabase(database, transaction.host);
    let tools: Tools | undefined;
    for (const claim of transaction.owned(place)) {
      const name = claim.slice(place.length);
      const own = entries.find((each) => each.name === name && transaction.owns(claim, fingerprintOf(each.certificates.join(""))));
      if (own) {
        refuseAmbiguous(entries, name, database);
        tools ??= await openDatabase(database, transaction);
        await tools.erase(own);
      }
      await transaction.disclaim(claim);
    }
  },
};

/** The certificate and, for a client's, the intermediates that it presents with it. */
function wantedOf({ alias, materialType }: Target, { certificate, chain, privateKey }: Material): Wanted[] {
  const own = { name: alias, certificate, privateKey, trust: materialType === "trust_anchor" ? "C,," : ",," };
  const issuers = materialType === "client_certificate" ? presented(certificate, chain).slice(1) : [];
  return [own, ...issuers.map((issuer, index) => ({ name: `${alias} issuer ${index + 1}`, certificate: issuer, privateKey: null }))];
}

function faultOf({ name, certificate, trust, privateKey }: Wanted, entries: Entry[]) {
  const found = entries.find((each) => holds(each, fingerprintOf(certificate)));
  if (!found) return entries.some((each) => each.name === name) ? `holds another certificate as ${name}` : `lacks ${name}`;
  if (trust !== undefined && found.kind.replace(/u/g, "") !== trust) return `has ${foreign(found.name)} with the trust ${foreign(found.kind)}, not ${trust}`;
  if (privateKey !== null && !found.kind.includes("u")) return `lacks the private key of ${foreign(found.name)}`;
}

function refuseAmbiguous(entries: Entry[], name: string, { directory }: Database) {
  if (entries.filter((each) => each.name === name).length > 1)
    throw new Error(`${directory} holds several certificates as ${name}, which certutil cannot distinguish. Delete what is not the agent's by hand.`);
}

function refuseForeign(entries: Entry[], place: string, transaction: Transaction) {
  const found = entries.find(({ name }) => !transaction.owns(place + name));
  if (!found) return;
  const how = `as ${foreign(found.name)} with the trust ${foreign(found.kind)}`;
  throw new Error(`${place.slice(0, -1)} holds a certificate ${how} already, and not by this agent. Remove it by certutil -D, or choose another alias.`);
}
