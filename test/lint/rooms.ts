/**
 * A row of the table: which paths below `src` it is for, and what these may import of `src`, besides what the row itself is for where that is a
 * whole folder. `types` may be imported for their types alone. `elysia` stands for the web framework.
 */
export type Room = { of: string; may: string; types?: string; never?: string; because: string };

const ROUTES = "modules/*/*/routes modules/*/*/routes/**";
const SCHEMA = "modules/*/*/schema modules/*/*/schema/**";
const QUERIES = "modules/*/*/queries modules/*/*/queries/**";
const RULES = "modules/*/*/rules modules/*/*/rules/**";
const SERVICES = "modules/*/*/services/**";
/** The agent's loop, which stands above its stores and its policy. */
const LOOP = "agent/pass agent/run agent/state agent/server-client agent/install agent/remove agent/report agent/attempt";

/** The rooms of the house; the first row that fits a path counts. */
export const ROOMS: readonly Room[] = [
  { of: "main.ts agent-main.ts", may: "commands/**", because: "The executable knows its commands alone." },
  { of: "app.ts", may: `elysia console/routes deps http/** ${ROUTES}`, because: "The app is the table of contents: routes and what all share." },
  {
    of: "startup.ts",
    may: "app cluster/channel config db/** demo/** deps http/** jobs/** log/** maintenance/** runtime/shutdown",
    because: "Start-up puts the parts together; it stands below the commands.",
  },
  {
    of: "deps.ts",
    may: `auth/** cluster/channel config crypto/stamps db/** http/metrics jobs/queue limits/** log/** mail/transport storage/** ${QUERIES} ${SERVICES}`,
    because: "Deps are made of what stands below the routes.",
  },
  {
    of: "config.ts",
    may: "auth/cidr auth/provider-settings crypto/** db/private-directory db/url limits/rate-limits mail/settings text/misspelled text/variables",
    because: "The configuration knows only how to read its values.",
  },
  { of: "*.ts text/** runtime/** x509/** outbound/**", may: "", because: "The ground: it imports nothing of src." },
  { of: "cluster/** crypto/** catalogue/**", may: "text/uuid x509/pem-certificates", because: "The ground: it imports nothing above it." },
  { of: "labels/schema.ts", may: "elysia http/schema labels/*", because: "A schema describes what is sent." },
  { of: "labels/**", may: "", because: "Labels and their selectors are pure." },
  { of: "log/**", may: "config text/printable", because: "The log knows its levels alone." },
  { of: "client/**", may: "elysia app", because: "The client knows the server by its types alone: it runs elsewhere." },
  {
    of: "commands/**",
    may: `agent/** app auth/** backup/** cluster/** config crypto/** db/** demo/** deps http/** jobs/** log/** mail/** maintenance/** runtime/shutdown startup storage/** text/* x509/pem-certificates ${QUERIES} ${RULES} ${SERVICES}`,
    because: "A command uses the parts, never a route.",
  },
  {
    of: "console/*.ts",
    may: "elysia console/* auth/** config crypto/sha256 deps http/**",
    because: "The console's server side serves files, and tells the page how to sign in.",
  },
  {
    of: "console/app/**",
    may: `client/** ${RULES}`,
    types: SCHEMA,
    because: "The browser's code knows the server by its client, by pure rules, and by the types of schemas.",
  },
  {
    of: "demo/**",
    may: `auth/** config db/** deps log/terminal text/shell-words x509/** ${QUERIES} ${SERVICES}`,
    because: "The demo uses the server as a client does.",
  },
  {
    of: "maintenance/**",
    may: `backup/** config crypto/** db/** deps log/** storage/** ${QUERIES}`,
    because: "Maintenance works on the database and its files.",
  },
  { of: "backup/**", may: "crypto/** db/** storage/**", because: "A backup knows tables, objects and keys." },
  {
    of: "jobs/**",
    may: `cluster/channel db/** deps mail/** maintenance/** ${QUERIES} ${RULES} ${SERVICES}`,
    because: "A job does what queries and services offer.",
  },
  {
    of: "modules/*/*/routes.ts modules/*/*/routes/**",
    may: `elysia auth/** catalogue/** deps guards/** http/** labels/* limits/** storage/links ${QUERIES} ${RULES} ${SCHEMA} ${SERVICES}`,
    because: "Routes know guards, queries, rules and schemas; no other routes, and no database.",
  },
  {
    of: "modules/*/*/services/**",
    may: `catalogue/** crypto/** db/** deps labels/* mail/** outbound/** runtime/backoff runtime/slices x509/** ${QUERIES} ${RULES} ${SCHEMA} ${SERVICES}`,
    types: "config",
    because: "Services know nothing of routes and guards.",
  },
  {
    of: "modules/*/*/queries.ts modules/*/*/queries/**",
    may: `catalogue/** crypto/** db/** labels/* mail/outbox runtime/slices text/uuid x509/** ${QUERIES} ${RULES} ${SCHEMA}`,
    because: "Queries know the database, rules and schemas.",
  },
  {
    of: "modules/*/*/schema.ts modules/*/*/schema/**",
    may: `elysia http/** labels/* text/uuid ${RULES} ${SCHEMA}`,
    because: "A schema describes what is sent.",
  },
  {
    of: "modules/*/*/rules.ts modules/*/*/rules/**",
    may: `auth/cidr catalogue/** crypto/sha256 db/moments labels/* mail/address mail/message outbound/address-policy outbound/call outbound/failure runtime/backoff runtime/remember x509/** modules/people/audit/** ${RULES} ${SCHEMA}`,
    because: "Rules are pure: no database, no request.",
  },
  {
    of: "guards/**",
    may: `elysia auth/** crypto/ed25519 db/** deps http/** limits/** text/uuid ${QUERIES} ${RULES}`,
    because: "Guards stand below the routes.",
  },
  {
    of: "auth/**",
    may: `cluster/channel config crypto/** db/** deps http/** outbound/bounded-text runtime/remember text/uuid ${QUERIES} ${RULES}`,
    because: "Who is calling: below the guards.",
  },
  { of: "limits/**", may: "cluster/channel config crypto/private-keys http/** modules/people/audit/**", because: "Limits stand below the guards." },
  {
    of: "http/**",
    may: `elysia auth/** cluster/channel config crypto/sha256 crypto/tls-files db/** deps log/** runtime/remember guides/* text/misspelled text/uuid text/variables modules/platform/jobs/services/job-runs ${QUERIES}`,
    because: "What all routes share stands below them.",
  },
  { of: "db/**", may: "config crypto/** runtime/remember", because: "The database is the lowest floor." },
  { of: "mail/**", may: "crypto/** db/**", because: "Mail knows messages and a server, not what they are about." },
  { of: "storage/**", may: "crypto/**", because: "Storage keeps bytes." },
  {
    of: "agent/policy/**",
    may: "agent/** text/misspelled text/shell-words modules/*/*/rules/**",
    never: `${LOOP} agent/transaction/**`,
    because: "The policy judges before anything is done: it knows what configs name, never the loop or a transaction.",
  },
  {
    of: "agent/stores/** agent/settings/**",
    may: `agent/** crypto/sha256 x509/** ${RULES} ${SCHEMA}`,
    never: `${LOOP} agent/policy/**`,
    because: "A store knows its files and programs; the agent's loop stands above it.",
  },
  { of: "agent/transaction/**", may: "agent/host/** crypto/sha256", because: "A transaction knows the host alone." },
  { of: "agent/host/**", may: "crypto/sha256 x509/**", because: "The ground of the agent: files and programs of this machine." },
  {
    of: "agent/**",
    may: `elysia crypto/agent-messages crypto/ed25519 crypto/message-signature crypto/sha256 db/lock http/schema runtime/backoff text/uuid x509/** ${RULES} ${SCHEMA}`,
    because: "The agent runs on other machines: it shares schemas and rules with the server, never its database.",
  },
];
