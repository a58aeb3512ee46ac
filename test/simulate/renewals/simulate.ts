import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectDatabase } from "#db/connect";
import { keyPemOf } from "../../support/issuance/pebble";
import { certificate } from "../../support/pki/certificates";
import { newCluster, startPostgres, writePair } from "../../support/pki/tls-servers";
import { startAuthorities } from "./authorities";
import { type Program, startCertitude } from "./certitude";
import { type Band, type Disruptions, startDisruptions } from "./disruptions";
import { findClockLibrary, type Host, startHost } from "./host";
import { judge } from "./judge";
import { watchKeys } from "./keys";
import { type Fault, type Prober, startProber } from "./prober";
import { KINDS, type Kind } from "./servers";
import { drawTimeline } from "./timeline";

export type Settings = {
  seed: number;
  program: Program;
  names: Record<Kind, number>;
  lifetimeSeconds: number;
  /** When the first certificates are renewed, where that is not to be at two thirds of their lifetime. */
  firstRenewalSeconds?: number;
  /** Between two passes of an agent. */
  intervalSeconds: number;
  /** Over which the first orders are spread, as those of a real fleet are. */
  spreadSeconds: number;
  /** It goes on for so long, and until each name was renewed and all works again. */
  seconds: number;
  disruptions: Disruptions;
};

const SAY_MS = 60_000;

function newBootstrap() {
  const made = certificate({ commonName: "bootstrap.example" });
  return { pem: made.pem, privateKeyPem: keyPemOf(made), chain: [], fingerprint: "" };
}
type Bootstrap = ReturnType<typeof newBootstrap>;

/** A Postgres of its own, so that a simulation disturbs nobody and its dump holds nothing else. */
async function startDatabase(parent: string, cluster: string, bootstrap: Bootstrap) {
  const directory = join(parent, "database");
  mkdirSync(directory);
  const { port, stop } = await startPostgres(directory, cluster, (data) => writePair(join(data, "server.crt"), join(data, "server.key"), bootstrap));
  const url = `postgres://postgres@127.0.0.1:${port}`;
  const { $client: sql } = connectDatabase(`${url}/postgres`, { max: 1 });
  await sql.unsafe("create database certitude encoding 'UTF8' template template0");
  await sql.end();
  return { url: `${url}/certitude`, stop };
}

/** What of the disruptions this machine can do; says what is left out. */
function feasible({ fullDisk, clock, ...rest }: Disruptions, say: (line: string) => void): Disruptions {
  const mountable = canMount();
  if (fullDisk && !mountable) say("No file system can be mounted here: no disk fills.");
  if (clock && !findClockLibrary()) say("libfaketime is not installed: no clock jumps.");
  return { ...rest, ...(fullDisk && mountable && { fullDisk }), ...(clock && findClockLibrary() && { clock }) };
}

function canMount() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-mount-"));
  const isMounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", directory]).exitCode === 0;
  if (isMounted) Bun.spawnSync(["umount", directory]);
  rmSync(directory, { recursive: true });
  return isMounted;
}

/** Runs servers, agents and CAs with certificates that live minutes, disturbs them, and returns what was seen and what is wrong. */
export async function simulateRenewals(settings: Settings, say: (line: string) => void) {
  const { seed, program, names, lifetimeSeconds, intervalSeconds } = settings;
  const disruptions = feasible(settings.disruptions, say);
  const parent = mkdtempSync(join(tmpdir(), "certitude-renewals-"));
  chmodSync(parent, 0o711);
  const [bootstrap, cluster] = [newBootstrap(), await newCluster()];
  const database = await startDatabase(parent, cluster.data, bootstrap);
  const certitude = await startCertitude(parent, database.url, program);
  const authorities = await startAuthorities(certitude, lifetimeSeconds, join(parent, "pebble.log"));
  const hosts: Host[] = [];
  for (const kind of KINDS) {
    const own = Array.from({ length: names[kind] }, (_, index) => `${kind}-${String(index).padStart(2, "0")}.renewals.example`);
    const starting = { program: program.agent, kind, parent, names: own, cluster: cluster.data, bootstrap };
    hosts.push(await startHost(certitude, starting, { interval: intervalSeconds, hasOwnDisk: disruptions.fullDisk !== undefined && kind === "nginx" }));
  }
  const faults: Fault[] = [];
  const report = (fault: Fault) => {
    faults.push(fault);
    say(`${fault.at.toISOString()} ${fault.where} ${fault.what}`);
  };
  const keys = watchKeys(hosts);
  const prober = startProber(
    hosts.flatMap(({ sites }) => sites),
    authorities.roots,
    report,
  );

  await orderAll(settings, hosts, authorities.issuerIds, certitude.ask);
  say(`${new Date().toISOString()} all names are ordered`);
  const { bands, over } = startDisruptions(disruptions, { certitude, authorities, hosts }, seed, say);
  await Promise.all([over, goOn(settings, prober, faults, say)]);

  await prober.stop();
  await Promise.all(hosts.map((host) => host.stop()));
  await certitude.stop();
  const found = await keys.stop();
  const judged = await judge({ certitude, authorities, keys: found, files: [certitude.log, ...hosts.flatMap(({ told }) => told)] });
  for (const each of judged.faults) report(each);
  await authorities.stop();
  await database.stop();
  for (const host of hosts) await host.unmount();
  cluster.remove();
  if (faults.length === 0) rmSync(parent, { recursive: true });
  else say(`What the servers and agents said is in ${parent}.`);
  return {
    counts: { ...countsOf(prober, bands), ...judged.counts },
    faults,
    reasons: judged.reasons,
    svg: drawTimeline({ title: titleOf(settings, prober), spans: prober.spans, bands }),
  };
}

/** Orders every name, by turns of Certitude's own authority and of Pebble. */
async function orderAll(
  { spreadSeconds, firstRenewalSeconds: seconds }: Settings,
  hosts: Host[],
  { internal, acme }: { internal: string; acme: string },
  ask: (method: string, path: string, body: object) => Promise<unknown>,
) {
  const all = hosts.flatMap(({ agentId, sites }) => sites.map((site) => ({ agentId, ...site })));
  for (const [index, { agentId, name, trustStoreType, config }] of all.entries()) {
    const issuerId = index % 2 === 0 ? internal : acme;
    const deployment = { agentId, applicationId: "simulated", trustStoreType, materialType: "server_certificate", config };
    const renewAt = seconds && new Date(Date.now() + seconds * 1_000).toISOString();
    await ask("POST", "/certificate-requests", { issuerId, names: [name], key: { location: "agent" }, deployment, ...(renewAt && { renewAt }) });
    await Bun.sleep((spreadSeconds * 1_000) / all.length);
  }
}

/** Goes on for the time that was set, and until every name was renewed and its first certificate has expired, or is at fault. */
async function goOn({ seconds }: Settings, { spans, counts, worst }: Prober, faults: Fault[], say: (line: string) => void) {
  const began = performance.now();
  const isDone = (name: string) => {
    const [first, second] = spans.get(name) ?? [];
    return (first && second && first.notAfter < Date.now()) || faults.some(({ where }) => where === name);
  };
  for (let saidAt = began; performance.now() - began < seconds * 1_000 || ![...spans.keys()].every(isDone); await Bun.sleep(500)) {
    if (performance.now() - saidAt < SAY_MS) continue;
    saidAt = performance.now();
    const shown = [...spans.values()].flat().length;
    say(
      `${new Date().toISOString()} ${counts.handshakes} handshakes, ${shown} certificates, at worst ${(worst().left / 1_000).toFixed(0)} s left (${worst().name}), ${faults.length} faults`,
    );
  }
}

function countsOf({ counts, spans, worst }: Prober, bands: Band[]) {
  const of = (what: Band["what"]) => bands.filter((each) => each.what === what).length;
  return {
    names: spans.size,
    ...counts,
    certificatesSeen: [...spans.values()].flat().length,
    kills: of("server killed"),
    outages: of("CA away"),
    fullDisks: of("disk full"),
    clockJumps: of("clock ahead"),
    leastSecondsLeft: Math.floor(worst().left / 1_000),
  };
}

const titleOf = ({ lifetimeSeconds }: Settings, { spans, counts }: Prober) =>
  `${spans.size} names, certificates of ${lifetimeSeconds} s: ${[...spans.values()].flat().length} certificates in ${counts.handshakes} handshakes`;
