import { DnsFault } from "../../rules/fault";
import { readDnsName } from "../../rules/wire/names";
import type { Context, Provider } from "../provider";
import { below, callApi, checkStatus } from "./api";

const LABEL = "acme-dns";

/**
 * Sets the value of a registration of acme-dns, to which names lead by CNAME. It keeps the last two values, and has no way to
 * remove one.
 */
export function createAcmeDns({ config, secrets, clock }: Context): Provider {
  const full = readDnsName(String(config.fullDomain));
  return {
    async add({ name, target, value }, limits) {
      if (target !== full)
        throw new DnsFault(`${name} must lead by CNAME to ${full}, but leads to ${target === name ? "nothing" : target}.`, { isFinal: true });
      const headers = { "content-type": "application/json", "x-api-user": String(config.username), "x-api-key": String(secrets.acmeDnsPassword) };
      const body = JSON.stringify({ subdomain: config.subdomain, txt: value });
      checkStatus(LABEL, await callApi(LABEL, { method: "POST", url: below(String(config.apiBaseUrl), "/update"), headers, body }, limits), clock());
    },
    async remove() {},
  };
}
