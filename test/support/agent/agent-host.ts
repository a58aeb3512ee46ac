import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inTurns, recoverInterrupted, type Work } from "#agent/attempt";
import { removeEverything } from "#agent/clean";
import { permittedCall } from "#agent/host/arguments";
import { type Host, thisHost } from "#agent/host/host";
import { reconcileAssignment } from "#agent/install";
import { answerKeyRequests } from "#agent/keys/requests";
import { removeAssignment } from "#agent/remove";
import type { Result } from "#agent/report";
import type { Desired } from "#agent/server-client";
import { openState } from "#agent/state";
import { readKeyRequest, readTarget } from "#agent/targets";
import { createLog } from "#log/log";
import { DEFAULTS } from "#modules/fleet/assignments/schema/assignments";
import type { KeyRequest } from "#modules/issuance/requests/schema/host-keys";
import { agreeing, agreeingTo, holding } from "./policies";

/** Returns the request's target, or none where the agent cannot read it: that needs no agreement to fail. */
function targetOrNone(request: KeyRequest) {
  try {
    return [readKeyRequest(request)];
  } catch {
    return [];
  }
}

type Certificate = { pem: string; chain: string[]; fingerprint: string; privateKeyPem?: string };

/** Returns the assignment that the server would send for the certificate, with an id of its own unless `rest` has one. */
export const desired = ({ pem, chain, fingerprint }: Certificate, rest: Partial<Desired> & Pick<Desired, "trustStoreType">): Desired => ({
  id: crypto.randomUUID(),
  version: 1,
  applicationId: "payments",
  ...DEFAULTS,
  config: {},
  certificateId: crypto.randomUUID(),
  commonName: "Scratch",
  fingerprintSha256: fingerprint,
  notAfter: "2030-01-01T00:00:00.000Z",
  pem,
  chain,
  privateKeyPem: null,
  ...rest,
});

/** The same for a server's certificate with its key. */
export const desiredServer = (issued: Required<Certificate>, rest: Partial<Desired> & Pick<Desired, "trustStoreType">) =>
  desired(issued, { materialType: "server_certificate", includePrivateKey: true, privateKeyPem: issued.privateKeyPem, ...rest });

/** The path of the machine's own programs: `bun run` puts a `node` before them that is Bun. */
const hostPath = (Bun.env.PATH ?? "")
  .split(":")
  .filter((each) => !each.includes("bun-node"))
  .join(":");

/** A scratch directory, and an agent that takes its places for the host's; without a server. */
export async function newAgentHost(
  prepare: (host: Host, directory: string) => Host = (host) => host,
  directory = mkdtempSync(join(tmpdir(), "certitude-host-")),
) {
  const home = join(directory, "home");
  mkdirSync(home, { recursive: true });
  const own = thisHost({ PATH: hostPath, HOME: home });
  let state = await openState(join(directory, "state"));
  const host = prepare(own, directory);
  const work: Work = { host, policy: holding({}), state, log: createLog("silent"), clock: () => new Date(), isDryRun: false, ignoreBackoff: true };
  return {
    directory,
    host: work.host,
    get state() {
      return state;
    },
    pathOf: (...names: string[]) => join(directory, ...names),
    /** Runs one pass for an assignment, on a host that agrees to it unless `more` says otherwise. */
    async pass(item: Desired, more: Partial<Work> = {}) {
      for (const record of state.records.values()) await recoverInterrupted(record, work);
      const former = state.records.get(item.id)?.target;
      const policy = await agreeingTo(more.host ?? host, item, former);
      return reconcileAssignment(item, { ...work, policy, ...more });
    },
    /** Runs a pass without the assignment. */
    /** As a new process finds it. */
    async restart() {
      state.close();
      state = await openState(join(directory, "state"));
      work.state = state;
    },
    async withdraw({ id }: Pick<Desired, "id">, more: Partial<Work> = {}) {
      const record = state.records.get(id);
      if (!record) throw new Error("the agent knows nothing of this assignment");
      const policy = record.target ? await agreeing(host, record.target) : holding({});
      return removeAssignment(record, { ...work, policy, ...more });
    },
    /** Runs one pass for many, on a host that agrees to them: interrupted ones, desired ones, and those no longer desired. */
    async passAll(items: Desired[], gone: Desired[] = []) {
      const agreed = { ...work, policy: await agreeing(host, ...[...items, ...gone].map(readTarget)) };
      await inTurns(agreed, (each) => [...state.records.values()].map((record) => () => recoverInterrupted(record, each)));
      const removed = gone.flatMap(({ id }) => state.records.get(id) ?? []);
      return inTurns<Result>(agreed, (each) => [
        ...items.map((item) => () => reconcileAssignment(item, each)),
        ...removed.map((record) => () => removeAssignment(record, each)),
      ]);
    },
    /** Runs `remove --all`, on a host that agrees to the removal of these. */
    clean: async (items: Desired[]) => removeEverything(join(directory, "state"), { ...work, policy: await agreeing(host, ...items.map(readTarget)) }),
    /**
     * Returns the requests that it sends for its own keys, on a host that agrees to them unless `more` says otherwise; `items`
     * are desired besides.
     */
    async answer(keys: KeyRequest[] | undefined, { items = [], keep = [] }: { items?: Desired[]; keep?: string[] } = {}, more: Partial<Work> = {}) {
      const csrs = new Map<string, string>();
      const faults: object[] = [];
      const client = {
        sendCsr: async (requestId: string, csrPem: string) => void csrs.set(requestId, csrPem),
        reportKeyFault: async (_: string, fault: object) => void faults.push(fault),
      };
      const policy = await agreeing(host, ...(keys ?? []).flatMap(targetOrNone));
      const answered = await answerKeyRequests({ items, keep, ...(keys && { keys }) }, { ...work, policy, ...more, client });
      return { ...answered, csrs, faults };
    },
    /** Every file below the directory but the agent's own: what a test expects to be left. */
    files: () =>
      readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter((each) => !each.isDirectory())
        .map((each) => join(each.parentPath, each.name).slice(directory.length + 1))
        .filter((name) => !name.startsWith("state/"))
        .toSorted(),
    remove() {
      state.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Debian's directory of the public roots. */
const PUBLIC = "/usr/share/ca-certificates/mozilla";

/**
 * The system's trust store in a scratch directory, by the real tool. It has one public root: the tool starts several processes
 * for each.
 */
export function withScratchSystem(host: Host, directory: string): Host {
  const anchors = join(directory, "anchors");
  const etc = join(directory, "certs");
  const hooks = join(directory, "hooks");
  const roots = join(directory, "mozilla");
  for (const each of [anchors, etc, hooks, roots]) mkdirSync(each, { recursive: true });
  copyFileSync(join(PUBLIC, readdirSync(PUBLIC)[0] ?? ""), join(roots, "public.crt"));
  writeFileSync(join(roots, "chosen"), "public.crt\n");
  const from = ["--localcertsdir", anchors, "--certsdir", roots, "--certsconf", join(roots, "chosen")];
  return {
    ...host,
    system: {
      anchors,
      bundle: join(etc, "ca-certificates.crt"),
      update: permittedCall(["update-ca-certificates", ...from, "--etccertsdir", etc, "--hooksdir", hooks]),
      hooks,
      javaStore: join(etc, "java/cacerts"),
    },
  };
}
