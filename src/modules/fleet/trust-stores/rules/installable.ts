import type { TrustStoreType } from "./store-types";

/** The stores that our own agent installs: it has code for each of these, and for no other. */
export const INSTALLABLE = [
  "linux_update_ca_certificates",
  "openssl_ca_dir",
  "pem_ca_bundle",
  "ssl_cert_file_env",
  "java_cacerts",
  "java_keystore_jks",
  "java_keystore_pkcs12",
  "nss_shared_db",
  "nodejs_extra_ca_certs",
  "python_requests_ca_bundle",
  "python_certifi",
  "git_http_sslcainfo",
  "curl_ca_bundle",
  "docker_certs_d",
  "podman_certs_d",
  "containerd_certs_d",
  "nginx_tls",
  "haproxy_tls",
  "postgresql_server_tls",
  "redis_server_tls",
  "pem_files",
  "apache_httpd_tls",
  "mariadb_server_tls",
  "postgresql_client_tls",
  "ruby_openssl",
  "php_openssl_cafile",
  "nss_firefox_profile",
  "firefox_policy",
  "chrome_policy",
  "linux_update_ca_trust",
  "pkcs11_token",
] as const satisfies TrustStoreType[];

type Installable = (typeof INSTALLABLE)[number];
const NAMES = new Set<string>(INSTALLABLE);
export const isInstallable = (type: string): type is Installable => NAMES.has(type);
/** Something for each of them. */
export type PerInstallable<Value> = Record<Installable, Value>;
