import { AwsV4Signer } from "aws4fetch";
import type { Reply } from "#outbound/call";
import type { Limits } from "#outbound/http-client";
import { DnsFault } from "../../rules/fault";
import { changeXml, errorCode, hostedZoneIn, recordSetIn } from "../../rules/route53";
import type { Context, Placed, Provider } from "../provider";
import { below, callApi, checkStatus } from "./api";

const LABEL = "Route 53";
/** The service has one address, and signs for this region. */
const SIGNED_FOR = { service: "route53", region: "us-east-1" };
/** The tries of a change, made again when the same records were changed in between. */
const MAX_TRIES = 5;
/** Errors that come with a 400 and pass. */
const PASSING = ["InvalidChangeBatch", "PriorRequestNotComplete", "Throttling", "ThrottlingException"];

/** Changes a hosted zone by Route 53's API. All values of a name are one set there: a change replaces exactly the set that was read. */
export function createRoute53({ config, secrets, lookups, clock }: Context): Provider {
  async function call(method: string, path: string, limits: Limits, { query = {}, body }: { query?: Record<string, string>; body?: string } = {}) {
    const signed = await new AwsV4Signer({
      ...SIGNED_FOR,
      method,
      url: below(String(config.apiBaseUrl), `/2013-04-01${path}`, query).href,
      headers: body === undefined ? {} : { "content-type": "application/xml" },
      ...(body !== undefined && { body }),
      accessKeyId: String(config.accessKeyId),
      secretAccessKey: String(secrets.awsSecretAccessKey),
      ...(secrets.awsSessionToken !== undefined && { sessionToken: String(secrets.awsSessionToken) }),
      datetime: clock()
        .toISOString()
        .replace(/[:-]|\.\d{3}/g, ""),
    }).sign();
    return callApi(LABEL, { method, url: signed.url, headers: Object.fromEntries(signed.headers), body }, limits);
  }

  function check(reply: Reply) {
    const code = errorCode(reply.body);
    if (reply.status === 400 && PASSING.includes(code)) throw new DnsFault(`Route 53 answered 400 (${code}).`);
    checkStatus(LABEL, reply, clock());
    return reply.body;
  }

  async function findZoneId(target: string, limits: Limits): Promise<string> {
    if (config.hostedZoneId !== undefined) return String(config.hostedZoneId);
    const zone = await lookups.findZone(target, limits.signal);
    const id = hostedZoneIn(check(await call("GET", "/hostedzonesbyname", limits, { query: { dnsname: `${zone}.`, maxitems: "10" } })), zone);
    if (id === undefined) throw new DnsFault(`The access key sees no public hosted zone ${zone} at Route 53.`, { isFinal: true });
    return id;
  }

  /** Replaces the values of the name by what `change` makes of them. */
  async function replaceValues({ target }: Placed, limits: Limits, change: (values: string[]) => string[]) {
    const path = `/hostedzone/${encodeURIComponent(await findZoneId(target, limits))}/rrset`;
    for (let tries = 1; ; tries++) {
      const set = recordSetIn(check(await call("GET", path, limits, { query: { name: `${target}.`, type: "TXT", maxitems: "1" } })), target);
      if (set?.isRouted) throw new DnsFault(`The TXT records of ${target} have a routing policy, which Certitude does not change.`, { isFinal: true });
      const values = change(set?.values ?? []);
      if (Bun.deepEquals(values, set?.values ?? [])) return;
      const reply = await call("POST", `${path}/`, limits, { body: changeXml(target, set, values) });
      if (reply.status !== 400 || errorCode(reply.body) !== "InvalidChangeBatch" || tries === MAX_TRIES) return void check(reply);
    }
  }

  return {
    add: (placed, limits) => replaceValues(placed, limits, (values) => (values.includes(quoted(placed)) ? values : [...values, quoted(placed)])),
    remove: (placed, limits) => replaceValues(placed, limits, (values) => values.filter((each) => each !== quoted(placed))),
  };
}

const quoted = ({ value }: Placed) => `"${value}"`;
