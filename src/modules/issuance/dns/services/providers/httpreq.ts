import type { Limits } from "#outbound/http-client";
import { DnsFault } from "../../rules/fault";
import type { Context, Placed, Provider } from "../provider";
import { basicAuth, below, callApi, checkStatus } from "./api";

const LABEL = "The httpreq server";

/** Has a server of one's own write records, by the protocol of lego's httpreq. */
export function createHttpreq({ config, secrets, clock }: Context): Provider {
  const authorization = config.username !== undefined && basicAuth(String(config.username), String(secrets.httpreqPassword ?? ""));
  const headers = { "content-type": "application/json", ...(authorization && { authorization }) };

  async function post(path: string, placed: Placed, limits: Limits) {
    const body = JSON.stringify(config.mode === "RAW" ? toRaw(placed) : { fqdn: `${placed.target}.`, value: placed.value });
    checkStatus(LABEL, await callApi(LABEL, { method: "POST", url: below(String(config.apiBaseUrl), path), headers, body }, limits), clock());
  }
  return { add: (placed, limits) => post("/present", placed, limits), remove: (placed, limits) => post("/cleanup", placed, limits) };
}

function toRaw({ name, token, keyAuthorization }: Placed) {
  if (token === undefined || keyAuthorization === undefined) {
    throw new DnsFault("httpreq's RAW mode needs the token and the key authorization, which this issuer does not have.", { isFinal: true });
  }
  return { domain: name.replace(/^_acme-challenge\./, ""), token, keyAuth: keyAuthorization };
}
