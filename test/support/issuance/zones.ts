import { readDnsSettings } from "#modules/issuance/dns/rules/settings";
import { TYPE } from "#modules/issuance/dns/rules/wire/messages";
import { ask } from "#modules/issuance/dns/services/ask";
import { createDnsSolver } from "#modules/issuance/dns/services/solver";
import { freePort } from "../pki/tls-servers";
import { aKey, type BindKey, startBind } from "./bind";
import { startForwarder } from "./dns-server";

/**
 * The primary is the resolver, too. Each has an address of its own and all have one port, as name servers have; BIND itself
 * takes the address of the machine's loopback alone.
 */
const PRIMARY = "127.0.0.1";
const SECONDARY = "127.0.0.2";

const NAMESERVERS = `@ NS ns1\n@ NS ns2\nns1 A ${PRIMARY}\nns2 A ${SECONDARY}\n`;

const key = aKey("acme.example.test");
export const otherAlgorithms = [aKey("key384.example.test", "hmac-sha384"), aKey("key512.example.test", "hmac-sha512")];

/**
 * Starts two name servers with three zones: `example.test` notifies the secondary of changes, `lagging.test` only by `catchUp`,
 * and `locked.test` takes none and has CNAMEs into the others.
 */
export async function startZones() {
  const [port, secondaryPort] = [await freePort(), await freePort()];
  const keys = [key, ...otherAlgorithms];
  const update = `allow-update { ${keys.map(({ name }) => `key "${name}";`).join(" ")} };`;
  const notifies = `notify explicit; also-notify { 127.0.0.1 port ${secondaryPort}; };`;
  const cnames = Array.from({ length: 10 }, (_, index) => `hop${index} CNAME hop${index + 1}`).join("\n");
  const primary = await startBind({
    port,
    isResolver: true,
    keys,
    zones: [
      { name: "example.test", records: NAMESERVERS, options: `type primary; ${update} ${notifies}` },
      { name: "lagging.test", records: NAMESERVERS, options: `type primary; ${update}` },
      {
        name: "locked.test",
        records: `${NAMESERVERS}
          _acme-challenge.www CNAME www.locked.example.test.
          _acme-challenge.far CNAME near
          near CNAME far.example.test.
          _acme-challenge.circle CNAME circle
          circle CNAME _acme-challenge.circle
          _acme-challenge.strange CNAME a\\032b
          _acme-challenge.many CNAME hop0
          ${cnames}
          `.replace(/^ +/gm, ""),
        options: `type primary; ${notifies}`,
      },
      { name: "wild.test", records: `@ NS ns1\nns1 A ${PRIMARY}\n*.wild.test. CNAME www.locked.example.test.\n`, options: `type primary; ${update}` },
      { name: "lame.test", records: `@ NS ns1\n@ NS ns2\nns1 A ${PRIMARY}\nns2 A ${SECONDARY}\n`, options: `type primary; ${update}` },
      { name: "dead.test", records: `@ NS ns1\n@ NS ns9\nns1 A ${PRIMARY}\nns9 A 127.0.0.9\n`, options: `type primary; ${update}` },
      { name: "nowhere.test", records: `@ NS ns1\n@ NS ns.gone.test.\nns1 A ${PRIMARY}\n`, options: `type primary; ${update}` },
      { name: "ipv6.test", records: `@ NS ns1\nns1 A ${PRIMARY}\nns1 AAAA 100::1\n`, options: `type primary; ${update}` },
    ],
  });
  const follows = { options: `type secondary; primaries { ${PRIMARY} port ${port}; }; allow-notify { any; };` };
  const secondary = await startBind({
    port: secondaryPort,
    zones: ["example.test", "lagging.test", "locked.test"].map((name) => ({ name, ...follows })),
  });
  const forwarder = await startForwarder(SECONDARY, port, secondaryPort);
  const signal = new AbortController().signal;
  const limits = { allowPrivate: true, signal };

  const askFor = (address: string, name: string, type: "TXT" | "SOA") => ask({ host: address, port }, { name, type, isRecursive: false }, limits);
  for (const zone of ["example.test", "lagging.test", "locked.test"]) {
    while (!(await askFor(SECONDARY, zone, "SOA")).isAuthoritative) await Bun.sleep(20);
  }

  /** The TXT values of a name at a server. */
  async function valuesAt(address: string, name: string) {
    const { answers } = await askFor(address, name, "TXT");
    return answers.flatMap(({ type, value }) => (type === TYPE.TXT && value !== undefined ? [value] : [])).toSorted();
  }
  return {
    port,
    server: primary.server,
    valuesOf: (name: string) => valuesAt(PRIMARY, name),
    /** Has the secondary fetch the zone that it was not told of. */
    catchUp: () => secondary.rndc("retransfer", "lagging.test"),
    stop() {
      forwarder.stop();
      return Promise.all([primary.stop(), secondary.stop()]);
    },
  };
}

export type Zones = Awaited<ReturnType<typeof startZones>>;
type With = { key?: BindKey; config?: Record<string, unknown>; clock?: () => Date; allowPrivate?: boolean };

/** A solver by DNS UPDATE, of settings as the API takes them. */
export function solverOf({ server, port }: Pick<Zones, "server" | "port">, { key: used = key, config, clock, allowPrivate = true }: With = {}) {
  const given = {
    provider: "rfc2136" as const,
    config: { server, keyName: used.name, algorithm: used.algorithm, resolvers: [server], ...config },
    secrets: { tsigSecret: used.secret },
  };
  const read = readDnsSettings(given, { allowPrivate: true, configAt: "config", secretsAt: "secrets" });
  if ("invalid" in read) throw new Error(read.invalid);
  return createDnsSolver({ ...read, allowPrivate, nameserverPort: port, ...(clock && { clock }) });
}
