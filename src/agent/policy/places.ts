import { dirname, join, relative, resolve } from "node:path";
import type { PerInstallable } from "#modules/fleet/trust-stores/rules/installable";
import { presetValues } from "#modules/fleet/trust-stores/rules/presets";
import { type Host, pathOn } from "../host/host";
import { bundlePath } from "../settings/pointed";
import type { Target } from "../store";
import { CHROME_DIRECTORIES } from "../stores/chrome-policy";
import { FIREFOX_POLICIES } from "../stores/firefox-policy";
import { gitFileOn, ownGitFileOn } from "../stores/git";
import { envFileOf } from "../stores/variables";
import { isCertificateFile } from "./paths";

/**
 * A path of a config, by its use: certificate files, one file, a file permitted by its own name only, a Python environment, a
 * tool's library or a web server's directory. `~/` is the home of `account`.
 */
export type PathDemand = { kind: "directory" | "file" | "named file" | "python" | "module" | "webroot"; path: string; field: string; account?: string };
type PathsOf = (target: Target, host: Host) => PathDemand[];
/** A store's own places, for which it needs no policy: directories, and single files. */
type Own = { directories?: string[]; files?: string[] };

const FILE_NAMES = ["certFileName", "chainFileName", "fullChainFileName", "caFileName", "keyFileName", "combinedFileName"] as const;
/** Those that lie in the config's keyDirectory, where it names one. */
const KEY_FILES: readonly string[] = ["keyFileName", "combinedFileName"];

/** The directory of the config, and its names that are no certificate's; `usual` is where the store looks by itself. */
const inDirectory =
  (usual: (host: Host) => string | undefined = () => undefined): PathsOf =>
  ({ config }, host) => {
    const { trustStorePath: given, keyDirectory } = config;
    const directory = given === undefined ? usual(host) : pathOn(host, given, "trustStorePath");
    if (directory === undefined) return []; // which the store itself refuses
    const secrets = resolve(directory, keyDirectory === undefined ? "" : pathOn(host, keyDirectory, "keyDirectory"));
    const places: PathDemand[] = given === undefined ? [] : [{ kind: "directory", path: directory, field: "trustStorePath" }];
    if (secrets !== directory) places.push({ kind: "directory", path: secrets, field: "keyDirectory" });
    return [...places, ...FILE_NAMES.flatMap((field) => oddName(field, config[field], KEY_FILES.includes(field) ? secrets : directory))];
  };

const oddName = (field: string, name: string | undefined, directory: string): PathDemand[] =>
  name === undefined || isCertificateFile(name) ? [] : [{ kind: "named file", path: join(directory, name), field }];

const singleFile: PathsOf = ({ config: { trustStorePath } }, host) =>
  trustStorePath === undefined || trustStorePath === host.system.bundle
    ? []
    : [{ kind: "file", path: pathOn(host, trustStorePath, "trustStorePath"), field: "trustStorePath" }];

/** The bundle to which a setting points; one that takes its name from the file of settings is permitted with that. */
function bundleBeside(target: Target, host: Host, settingsFile: string): PathDemand[] {
  const { trustStorePath, certFileName, preferOsStore } = target.config;
  const path = bundlePath(target, host, settingsFile);
  if (preferOsStore || path === host.system.bundle || (trustStorePath === undefined && certFileName === undefined)) return [];
  return [{ kind: "file", path, field: trustStorePath === undefined ? "certFileName" : "trustStorePath" }];
}

const byVariable: PathsOf = (target, host) => {
  const file = envFileOf(target, host);
  return [{ kind: "named file", path: file, field: "envFilePath" }, ...bundleBeside(target, host, file)];
};

/** A directory of the home of the config's account, where it names one. */
const libpqDirectory: PathsOf = (target, host) => {
  const { dbUser, trustStorePath } = target.config;
  const places = inDirectory(({ home }) => join(home, ".postgresql"))(target, host);
  if (dbUser === undefined || trustStorePath !== undefined) return places;
  return places.map((each) => ({ ...each, path: join("~", relative(host.home, each.path)), account: dbUser }));
};

/** A directory of a database; `~/` is the home of the config's account, where it names one. */
const database: PathsOf = ({ config: { trustStorePath, dbUser } }, host) => {
  if (trustStorePath === undefined) return [];
  const isInHome = dbUser !== undefined && trustStorePath.startsWith("~/");
  const path = isInHome ? trustStorePath : pathOn(host, trustStorePath, "trustStorePath");
  return [{ kind: "directory", path, field: "trustStorePath", ...(isInHome && { account: dbUser }) }];
};

/** A file of policies, and the certificate beside it. */
const firefoxFiles: PathsOf = ({ config: { trustStorePath = FIREFOX_POLICIES, certFileName } }, host) => {
  const file = pathOn(host, trustStorePath, "trustStorePath");
  const field = "trustStorePath";
  const names = oddName("certFileName", certFileName, dirname(file));
  return file === FIREFOX_POLICIES ? names : [{ kind: "named file", path: file, field }, { kind: "directory", path: dirname(file), field }, ...names];
};

const chromeFile: PathsOf = ({ config: { trustStorePath, certFileName = "certitude.json" } }, host) => {
  const directory = trustStorePath === undefined ? undefined : pathOn(host, trustStorePath, "trustStorePath");
  if (directory === undefined || CHROME_DIRECTORIES.includes(directory)) return [];
  return [{ kind: "named file", path: join(directory, certFileName), field: "trustStorePath" }];
};

/** Without a file of settings the newest PHP's own takes it, and the bundle lies beside that. */
const phpFiles: PathsOf = (target, host) => {
  const { envFilePath, trustStorePath, certFileName } = target.config;
  if (envFilePath !== undefined) return byVariable(target, host);
  return trustStorePath === undefined ? oddName("certFileName", certFileName, "/etc/php") : bundleBeside(target, host, "/etc/php");
};

const SYSTEM_CERTIFICATES = "/etc/ssl/certs";
const gitDirectory = (host: Host) => `${ownGitFileOn(host)}.d`;

/** The paths that the config of each store names. */
export const PLACES: PerInstallable<PathsOf> = {
  linux_update_ca_certificates: inDirectory(({ system }) => system.anchors),
  openssl_ca_dir: inDirectory(() => SYSTEM_CERTIFICATES),
  pem_ca_bundle: ({ config: { trustStorePath = "" } }, host) => [
    { kind: "file", path: pathOn(host, trustStorePath, "trustStorePath"), field: "trustStorePath" },
  ],
  ssl_cert_file_env: byVariable,
  python_requests_ca_bundle: byVariable,
  nodejs_extra_ca_certs: byVariable,
  curl_ca_bundle: (target, host) =>
    target.config.envFilePath === undefined ? bundleBeside(target, host, join(host.home, ".curlrc")) : byVariable(target, host),
  git_http_sslcainfo: (target, host) =>
    target.materialType === "client_certificate" ? inDirectory(gitDirectory)(target, host) : bundleBeside(target, host, gitFileOn(host)),
  python_certifi: singleFile,
  java_cacerts: singleFile,
  java_keystore_jks: singleFile,
  java_keystore_pkcs12: singleFile,
  nss_shared_db: database,
  nss_firefox_profile: database,
  docker_certs_d: inDirectory(),
  podman_certs_d: inDirectory(),
  containerd_certs_d: inDirectory(),
  nginx_tls: inDirectory(),
  haproxy_tls: inDirectory(),
  postgresql_server_tls: inDirectory(),
  redis_server_tls: inDirectory(),
  pem_files: inDirectory(),
  apache_httpd_tls: inDirectory(),
  mariadb_server_tls: inDirectory(),
  postgresql_client_tls: libpqDirectory,
  ruby_openssl: byVariable,
  php_openssl_cafile: phpFiles,
  firefox_policy: firefoxFiles,
  chrome_policy: chromeFile,
  pkcs11_token: ({ config: { trustStorePath = "" } }, host) => [
    { kind: "module", path: pathOn(host, trustStorePath, "trustStorePath"), field: "trustStorePath" },
  ],
  linux_update_ca_trust: inDirectory(({ caTrust }) => caTrust.anchors),
};

/** The places for which no policy is needed. None of them is a directory of settings. */
export const OWN_PLACES: Partial<PerInstallable<(host: Host) => Own>> = {
  linux_update_ca_certificates: ({ system }) => ({ directories: [system.anchors] }),
  linux_update_ca_trust: ({ caTrust }) => ({ directories: [caTrust.anchors] }),
  openssl_ca_dir: () => ({ directories: [SYSTEM_CERTIFICATES] }),
  pem_ca_bundle: ({ system }) => ({ files: [system.bundle] }),
  java_cacerts: () => ({ files: [join(SYSTEM_CERTIFICATES, "java/cacerts")] }),
  git_http_sslcainfo: (host) => ({ directories: [gitDirectory(host)] }),
  nss_shared_db: ({ home }) => ({ directories: [join(home, ".pki/nssdb"), join(home, ".local/share/pki/nssdb")] }),
  docker_certs_d: () => ({ directories: ["/etc/docker/certs.d"] }),
  podman_certs_d: () => ({ directories: ["/etc/containers/certs.d"] }),
  containerd_certs_d: () => ({ directories: ["/etc/containerd/certs.d"] }),
  nginx_tls: () => ({ directories: ["/etc/nginx/ssl"] }),
  haproxy_tls: () => ({ directories: ["/etc/haproxy/certs", "/etc/haproxy/ssl"] }),
  redis_server_tls: () => ({ directories: ["/etc/redis/tls"] }),
  apache_httpd_tls: () => ({ directories: ["/etc/apache2/ssl"] }),
  mariadb_server_tls: () => ({ directories: ["/etc/mysql/ssl"] }),
  postgresql_client_tls: ({ home }) => ({ directories: [join(home, ".postgresql")] }),
  pem_files: () => ({ directories: presetValues("trustStorePath") }),
};
