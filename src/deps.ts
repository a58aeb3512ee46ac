import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { createNonces, type Nonces } from "#auth/nonces";
import { createOneTimeCodes, type OneTimeCodes } from "#auth/one-time-codes";
import { createTokens, type Tokens } from "#auth/tokens";
import { createGatewayCheck, type GatewayCheck } from "#auth/trusted-gateway";
import { ALONE, type Cluster } from "#cluster/channel";
import { createStamps, type Stamps } from "#crypto/stamps";
import { type ClockCheck, createClockCheck } from "#db/clock-check";
import type { Db, Pool } from "#db/connect";
import { createMetrics, type Metrics } from "#http/metrics";
import { createQueue, type Queue } from "#jobs/queue";
import { createKeyMaker, type KeyMaker } from "#limits/key-maker";
import { CALL_LANES, createLanes, type Lanes, lanesFor } from "#limits/lanes";
import { createLimits, type Limits } from "#limits/limits";
import type { Log } from "#log/log";
import { createMailTransport, type MailTransport } from "#mail/transport";
import { acmeDriver } from "#modules/issuance/acme/services/keep";
import { createInternalDriver } from "#modules/issuance/authorities/services/driver";
import { trustedRoots } from "#modules/issuance/domains/services/roots";
import type { Drivers } from "#modules/issuance/issuing/services/drivers";
import { createFeed, type Feed } from "#modules/notifications/inbox/services/feed";
import { type CountedEvents, createCountedEvents } from "#modules/people/audit/services/counted-events";
import { createOrganizationLookup } from "#modules/people/organizations/queries";
import { createJobRuns, type JobRuns } from "#modules/platform/jobs/services/job-runs";
import { createFileStore } from "#storage/files";
import type { ObjectStore } from "#storage/store";
import type { Config } from "./config";

/** Answers a request inside this process, without the network. */
export type Handle = (request: Request) => Response | Promise<Response>;

/** The services that the program hands to routes and jobs. */
export type Deps = {
  config: Config;
  db: Db;
  sql: Pool;
  log: Log;
  /** The proof that this server, not only a writer to its database, ordered what reaches hosts. */
  stamps: Stamps;
  clock: () => Date;
  /** Compares it with the database's clock. */
  clockCheck: ClockCheck;
  /** Authorities, in PEM, whose certificates prove what organizations have. */
  trustedRoots: () => readonly string[];
  /** The drivers that have certificates issued, by the kind of issuer. */
  drivers: Drivers;
  /** The other workers of this server, if it has any. */
  cluster: Cluster;
  metrics: Metrics;
  feed: Feed;
  store: ObjectStore;
  queue: Queue;
  /** The runs of background jobs, here and on all servers. */
  jobRuns: JobRuns;
  /** The mail server of SMTP_URL, if there is one. */
  mail: MailTransport | undefined;
  /** The worker key of this process: the first of WORKER_API_KEY or, if there is none, a secret of its own. */
  workerKey: string;
  tokens: Tokens;
  /** The codes in links that open the console signed in. */
  oneTimeCodes: OneTimeCodes;
  isTrustedGateway: GatewayCheck;
  limits: Limits;
  /** For reads that may cost more than a moment of the database. */
  lanes: Lanes;
  /** For calls to others that a request waits for. */
  callLanes: Lanes;
  keyMaker: KeyMaker;
  organizationExists: (id: string) => Promise<boolean>;
  /** Which signed requests of agents came before. */
  nonces: Nonces;
  /** Audit events of refusals, and of what staff and holders of links read: counted, and written every few seconds. */
  denials: CountedEvents;
  reads: CountedEvents;
};

type Parts = Pick<Deps, "config" | "db" | "log"> & Partial<Pick<Deps, "clock" | "cluster">> & { now?: () => number };

/** `now` is a clock in milliseconds that never goes back, unlike `clock`. */
export function createDeps({ config, db, log, clock = () => new Date(), now = () => performance.now(), cluster = ALONE }: Parts): Deps {
  const sql = db.$client;
  const organizations = createOrganizationLookup(sql);
  const trail = { sql, clock, isKnownOrganization: organizations.isKnown };
  const jobRuns = createJobRuns({ sql, now, server: `${hostname()}:${process.pid}` });
  return {
    config,
    db,
    sql,
    log,
    stamps: createStamps(config.keyring),
    clock,
    clockCheck: createClockCheck({ sql, clock, log, now }),
    trustedRoots,
    drivers: { acme: acmeDriver, internal: createInternalDriver },
    cluster,
    metrics: createMetrics({ config, sql, clock, cluster, jobRuns }),
    feed: createFeed(sql, (error) => log.warn({ err: error }, "polling for notifications failed")),
    store: createFileStore(join(config.dataDir, "objects"), config.keyring),
    queue: createQueue({ sql, log, cluster }),
    jobRuns,
    mail: config.mail && createMailTransport(config.mail),
    workerKey: config.workerApiKeys[0] ?? randomBytes(32).toString("base64url"),
    tokens: createTokens({ config, sql, log, clock, cluster }),
    oneTimeCodes: createOneTimeCodes(clock),
    isTrustedGateway: createGatewayCheck(config),
    limits: createLimits(config, now, cluster),
    lanes: createLanes(lanesFor(sql.options.max)),
    callLanes: createLanes(CALL_LANES),
    keyMaker: createKeyMaker(),
    organizationExists: organizations.exists,
    nonces: createNonces(),
    denials: createCountedEvents({ ...trail, maxEach: 20 }),
    reads: createCountedEvents(trail),
  };
}
