import { basename, dirname } from "node:path";
import { presetValues } from "#modules/fleet/trust-stores/rules/presets";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { valueFault } from "#modules/fleet/trust-stores/rules/values";
import { quoteWords } from "#text/shell-words";
import { permitsAnchor } from "./anchors";
import type { Demand } from "./demands";
import { isOwnEndpoint } from "./endpoints";
import { isHarmlessFlag } from "./node-flags";
import { isCertificateFile, isForbidden, isWithin } from "./paths";
import type { PathDemand } from "./places";
import type { Grant, Policy } from "./policy";
import { isKnownReload, isSameCommand, matchesPattern } from "./reloads";

/**
 * A demand as this host sees it: a path by where it leads, and whether that is a place of the store's own; or as it stands,
 * with why it leads nowhere.
 */
type SeenPath = PathDemand & { real: string; isOwn: boolean; fault?: Error };
export type Seen = Exclude<Demand, PathDemand> | SeenPath;
/** The facts of the host that the rules use. */
export type Facts = { ownNames: readonly string[] };

type DemandOf<Kind extends Seen["kind"]> = Kind extends PathDemand["kind"] ? SeenPath : Extract<Seen, { kind: Kind }>;
type Rule<Kind extends Seen["kind"]> = {
  isPermitted: (demand: DemandOf<Kind>, policy: Policy, facts: Facts) => boolean | undefined;
  /** Returns the refusal in words. */
  describe: (demand: DemandOf<Kind>) => string;
  /** Returns the grant that would permit it; undefined where none can. */
  grant: (demand: DemandOf<Kind>) => Grant | undefined;
};

const within = (directories: string[] | undefined, path: string) => directories?.some((each) => isWithin(path, each));
const leadsTo = (path: string, real: string) => (real === path ? "" : `, which leads to ${real}`);
const lies = ({ path, real, field }: SeenPath) => `${path}${leadsTo(path, real)} (config.${field})`;
const unlessForbidden = ({ path, real }: SeenPath, grant: Grant) => (isForbidden(path) || isForbidden(real) ? undefined : grant);

/** A private key's file is its owner's, and its group's to read; a file without one may be read by everyone. */
const STRICTEST = { withKey: 0o640, without: 0o644 };

/** Accounts and groups of servers, to which their own files may belong. */
const OWNERS = new Set([...presetValues("fileOwner"), ...presetValues("fileGroup").map((each) => `:${each}`)]);

const faultOfValue = (storeType: TrustStoreType, field: string, value: unknown) => valueFault(field, value) ?? valueFault(field, value, storeType);

/** One rule for each kind of thing: pure, so that it can be read and tested alone. */
const RULES: { [Kind in Seen["kind"]]: Rule<Kind> } = {
  store: {
    isPermitted: ({ type }, { stores }) => stores === undefined || stores.includes(type),
    describe: ({ type }) => `the store ${type}`,
    grant: ({ type }) => ({ field: "stores", value: type }),
  },
  anchor: {
    isPermitted: ({ type, authority }, { anchors }) => anchors === undefined || anchors.some((each) => permitsAnchor(each, type, authority)),
    describe: ({ type, authority: { commonName, fingerprint } }) => `trusting the authority "${commonName}" (sha256:${fingerprint}) in the store ${type}`,
    grant: ({ type, authority: { fingerprint } }) => ({ field: "anchors", value: `sha256:${fingerprint} stores:${type}` }),
  },
  directory: {
    isPermitted: ({ real, isOwn }, { directories }) => isOwn || within(directories, real),
    describe: (demand) => `writing into ${lies(demand)}`,
    grant: (demand) => unlessForbidden(demand, { field: "directories", value: demand.real }),
  },
  file: {
    isPermitted: ({ real, isOwn }, { directories, files }) =>
      isOwn || files?.includes(real) || (isCertificateFile(basename(real)) && within(directories, dirname(real))),
    describe: (demand) => `writing ${lies(demand)}`,
    grant: (demand) => unlessForbidden(demand, { field: "files", value: demand.real }),
  },
  "named file": {
    isPermitted: ({ real }, { files }) => files?.includes(real),
    describe: (demand) => `writing ${lies(demand)}`,
    grant: (demand) => unlessForbidden(demand, { field: "files", value: demand.real }),
  },
  python: {
    isPermitted: ({ real }, { pythonVenvs }) => pythonVenvs?.includes(real),
    describe: (demand) => `running the Python of ${lies(demand)}`,
    grant: (demand) => unlessForbidden(demand, { field: "pythonVenvs", value: demand.real }),
  },
  module: {
    isPermitted: ({ real }, { pkcs11Modules }) => pkcs11Modules?.includes(real),
    describe: (demand) => `loading the library ${lies(demand)}`,
    grant: (demand) => unlessForbidden(demand, { field: "pkcs11Modules", value: demand.real }),
  },
  webroot: {
    isPermitted: ({ real }, { webroots }) => within(webroots, real),
    describe: ({ path, real }) => `answering a CA's challenges by files in ${path}${leadsTo(path, real)}`,
    grant: (demand) => unlessForbidden(demand, { field: "webroots", value: demand.real }),
  },
  "challenge port": {
    isPermitted: ({ port }, { challengePorts }) => challengePorts?.includes(`${port}`),
    describe: ({ port }) => `answering a CA's challenges on port ${port}`,
    grant: ({ port }) => ({ field: "challengePorts", value: `${port}` }),
  },
  reload: {
    isPermitted: ({ argv }, { reloads = [], reloadPatterns = [] }) =>
      isKnownReload(argv) || reloads.some((each) => isSameCommand(each, argv)) || reloadPatterns.some((each) => matchesPattern(each, argv)),
    describe: ({ argv }) => `running ${quoteWords(argv)} (config.reloadCommand)`,
    grant: ({ argv }) => (argv[0] ? { field: "reloads", value: argv } : undefined),
  },
  "node flag": {
    isPermitted: ({ flag }, { nodeFlags }) => isHarmlessFlag(flag) || nodeFlags?.includes(flag),
    describe: ({ flag }) => `the flag ${flag} (config.nodeFlags)`,
    grant: ({ flag }) => (flag.startsWith("-") ? { field: "nodeFlags", value: flag } : undefined),
  },
  password: {
    isPermitted: ({ reference }, { passwords }) => passwords?.includes(reference),
    describe: ({ reference }) => `reading a password from ${reference} (config.storePasswordRef)`,
    grant: ({ reference }) => ({ field: "passwords", value: reference }),
  },
  endpoint: {
    isPermitted: ({ endpoint }, { endpoints }, { ownNames }) => isOwnEndpoint(endpoint, ownNames) || endpoints?.includes(endpoint),
    describe: ({ endpoint }) => `connecting to ${endpoint} (config.verifyEndpoint)`,
    grant: ({ endpoint }) => ({ field: "endpoints", value: endpoint }),
  },
  account: {
    isPermitted: ({ name }, { accounts }) => accounts?.includes(name),
    describe: ({ name }) => `acting in the name of ${name} (config.dbUser)`,
    grant: ({ name }) => ({ field: "accounts", value: name }),
  },
  "file owner": {
    isPermitted: ({ name }, { fileOwners }) => OWNERS.has(name) || fileOwners?.includes(name),
    describe: ({ name, field }) => `giving files to ${name} (config.${field})`,
    grant: ({ name }) => ({ field: "fileOwners", value: name }),
  },
  value: {
    isPermitted: ({ storeType, field, value }) => faultOfValue(storeType, field, value) === undefined,
    describe: ({ storeType, field, value }) => `this config.${field}, which ${faultOfValue(storeType, field, value)}`,
    grant: () => undefined,
  },
  "key mode": {
    isPermitted: ({ mode, holdsKey }, { keyModes }) =>
      (Number.parseInt(mode, 8) & ~(holdsKey ? STRICTEST.withKey : STRICTEST.without)) === 0 || keyModes?.includes(mode),
    describe: ({ mode }) => `the mode ${mode} (config.keyPermissionMode)`,
    grant: ({ mode }) => ({ field: "keyModes", value: mode }),
  },
  "private key": {
    isPermitted: (_demand, { privateKeys }) => privateKeys,
    describe: () => "its private key",
    grant: () => ({ field: "privateKeys", value: true }),
  },
};

const ruleOf = <Kind extends Seen["kind"]>(kind: Kind) => RULES[kind] as unknown as Rule<Seen["kind"]>;

export const isPermitted = (demand: Seen, policy: Policy, facts: Facts) =>
  !("real" in demand && (isForbidden(demand.path) || isForbidden(demand.real))) && ruleOf(demand.kind).isPermitted(demand as never, policy, facts) === true;
export const describe = (demand: Seen) => ruleOf(demand.kind).describe(demand as never);
export const grantFor = (demand: Seen) => ruleOf(demand.kind).grant(demand as never);
