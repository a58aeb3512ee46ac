type About = {
  /** The value that counts where it is not set; else how it is without one. */
  fallback: string;
  /** True when `fallback` is a value, not words. */
  isValue?: boolean;
  about: string;
  more?: string;
};

/** The variables of the environment: `config.ts` reads no others, and help texts and `/docs/variables` are made of them. */
export const VARIABLES = {
  PORT: { fallback: "3000", isValue: true, about: "port where it listens" },
  HOST: { fallback: "127.0.0.1", isValue: true, about: "address where it listens" },
  TLS_CERT: {
    fallback: "http",
    about: "PEM file of the server's certificate with its chain: then it serves https",
    more: "Changed files are served within four seconds, and running requests are finished. An agent of ours, or any other program, may keep them.",
  },
  TLS_KEY: { fallback: "http", about: "PEM file of its key, closed to other users (chmod o=)" },
  DATABASE_URL: {
    fallback: "embedded, under DATA_DIR",
    about: "Postgres 15 or later",
    more: "Its parameters mean what libpq means by them: host, port, user, password, dbname, connect_timeout, application_name, options, target_session_attrs, sslmode, sslrootcert, sslcert, sslkey; any other stops the start. Of several servers the one that takes writes is found: postgres://user@a:5432,b:5432/certitude?target_session_attrs=read-write. PGPORT and its like are not read.",
  },
  DATA_DIR: {
    fallback: "./data",
    isValue: true,
    about: "directory of the embedded database, its secrets, and the files of documents",
    more: "One process at a time has it. At each start it is closed to all but the server's user (0700, its own files 0600); an open directory that is used for something else is refused.",
  },
  JWT_SECRET: {
    fallback: "made once; required with DATABASE_URL, or OIDC_ISSUER",
    about: "verifies user tokens signed with HS256; at least 32 characters",
    more: "On the embedded default it is kept in DATA_DIR/secrets.json, mode 0600.",
  },
  OIDC_ISSUER: {
    fallback: "none",
    about: "identity provider whose user tokens count (discovery, RS/PS/ES/EdDSA)",
    more: "https; http only on this machine.",
  },
  JWT_AUDIENCE: { fallback: "none", about: "audience that a user token must name; required with OIDC_ISSUER" },
  OIDC_CLIENT_ID: {
    fallback: "none",
    about: "the console's client at that provider",
    more: "Public, authorization code with PKCE, redirect address …/console/, token endpoint open to the console's origin (CORS). Where it equals JWT_AUDIENCE the console uses the id token, else an access token for JWT_AUDIENCE (resource, audience).",
  },
  SECRETS_KEY: {
    fallback: "made once; required with DATABASE_URL",
    about: "seals secrets at rest: 32 bytes, base64; of several the first seals",
    more: "Comma-separated; every one opens. On the embedded default it is kept in DATA_DIR/secrets.json, mode 0600.",
  },
  WORKER_API_KEY: {
    fallback: "workers are refused",
    about: "key of the workers; two, comma-separated, while rotating",
    more: "At least 32 characters.",
  },
  PLATFORM_ADMINS: { fallback: "none", about: "user ids of the platform's staff, comma-separated" },
  PLATFORM_STAFF_DOMAINS: { fallback: "none", about: "e-mail domains that x-platform-staff-email may have" },
  TRUSTED_GATEWAYS: {
    fallback: "none",
    about: "machines that may vouch for an organization by headers alone",
    more: "Addresses and CIDR blocks. They may read /metrics, too.",
  },
  GATEWAY_SECRET: {
    fallback: "none",
    about: "the x-gateway-secret that such a gateway must then send",
    more: "At least 32 characters; two, comma-separated, while rotating.",
  },
  METRICS_TOKEN: {
    fallback: "none",
    about: "bearer token that reads /metrics, from anywhere",
    more: "At least 32 characters; two, comma-separated, while rotating.",
  },
  PUBLIC_URL: {
    fallback: "the Host of the request",
    about: "address that users see, a path allowed; required with SMTP_URL",
    more: "Links of mails and downloads begin with it. Without it they name the Host of the request, behind a proxy often the server's own.",
  },
  SMTP_URL: {
    fallback: "no mail",
    about: "mail server for invitations and notifications: smtp://user:password@host:587",
    more: "smtps:// is TLS from the first byte. STARTTLS is required, but not on this machine: ?requireTLS=false sends without it where it is not offered, ?ca=FILE names the authorities that count, in PEM.",
  },
  MAIL_FROM: { fallback: "none", about: "sender of mails: Certitude <certitude@example.org>; required with SMTP_URL" },
  ALLOW_PRIVATE_TARGETS: { fallback: "false", isValue: true, about: "if true, connections may name private, loopback and link-local addresses" },
  CORS_ORIGINS: { fallback: "none", about: "origins whose pages may call it, comma-separated" },
  RATE_LIMITS: {
    fallback: "generous",
    about: "requests and seconds of one caller: user=6000/60,agent=600/60,address=off; or off",
    more: "By default, in 60 s: 6,000 requests of a user, an API token or an ingest key, 600 of an agent, 60,000 of a gateway for one organization, and 600 refused ones of an address.",
  },
  REQUEST_TIMEOUT: {
    fallback: "5",
    isValue: true,
    about: "seconds that a request may take, 1 to 300, besides the time of its body",
    more: "Then it is answered 503.",
  },
  LOG_LEVEL: { fallback: "info", isValue: true, about: "least level that is logged: fatal, error, warn, info, debug, trace or silent" },
} as const satisfies Record<string, About>;

export type Variable = keyof typeof VARIABLES;

/** Returns the value that counts where a variable is not set. */
export const defaultOf = <Name extends Variable>(name: Name): (typeof VARIABLES)[Name]["fallback"] => VARIABLES[name].fallback;

/** Returns each variable with its description. */
export const listVariables = (): [name: string, about: About][] => Object.entries<About>(VARIABLES);

/** Returns all that is said of a variable, in sentences. */
export const describeVariable = ({ about, more }: About) => [`${about.charAt(0).toUpperCase()}${about.slice(1)}.`, more].filter(Boolean).join(" ");
