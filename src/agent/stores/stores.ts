import { isInstallable, type PerInstallable } from "#modules/fleet/trust-stores/rules/installable";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import type { Store } from "../store";
import { caTrustStore } from "./ca-trust";
import { certifi } from "./certifi";
import { chromePolicy } from "./chrome-policy";
import { curlBundle } from "./curl";
import { firefoxPolicy } from "./firefox-policy";
import { gitBundle } from "./git";
import { javaCacerts, javaKeystoreJks, javaKeystorePkcs12 } from "./java";
import { nodeExtraCerts } from "./node";
import { nssDatabase } from "./nss";
import { opensslDirectory } from "./openssl";
import { pemBundle } from "./pem-bundle";
import { pemFiles } from "./pem-files";
import { phpCafile } from "./php";
import { pkcs11Token } from "./pkcs11";
import { postgres } from "./postgres";
import { postgresClient } from "./postgres-client";
import { containerdRegistry, dockerRegistry, podmanRegistry } from "./registries";
import { apache, haproxy, mariadb, nginx, redis } from "./servers";
import { systemStore } from "./system";
import { requestsBundle, sslCertFile } from "./variables";

/** Every store that this agent installs. */
export const STORES: PerInstallable<Store> = {
  linux_update_ca_certificates: systemStore,
  openssl_ca_dir: opensslDirectory,
  docker_certs_d: dockerRegistry,
  podman_certs_d: podmanRegistry,
  containerd_certs_d: containerdRegistry,
  nginx_tls: nginx,
  haproxy_tls: haproxy,
  postgresql_server_tls: postgres,
  redis_server_tls: redis,
  pem_files: pemFiles,
  apache_httpd_tls: apache,
  mariadb_server_tls: mariadb,
  postgresql_client_tls: postgresClient,
  ruby_openssl: sslCertFile,
  php_openssl_cafile: phpCafile,
  pem_ca_bundle: pemBundle,
  python_certifi: certifi,
  ssl_cert_file_env: sslCertFile,
  python_requests_ca_bundle: requestsBundle,
  nodejs_extra_ca_certs: nodeExtraCerts,
  curl_ca_bundle: curlBundle,
  git_http_sslcainfo: gitBundle,
  java_cacerts: javaCacerts,
  java_keystore_jks: javaKeystoreJks,
  java_keystore_pkcs12: javaKeystorePkcs12,
  nss_shared_db: nssDatabase,
  nss_firefox_profile: nssDatabase,
  firefox_policy: firefoxPolicy,
  chrome_policy: chromePolicy,
  linux_update_ca_trust: caTrustStore,
  pkcs11_token: pkcs11Token,
};

export function storeOf(type: TrustStoreType) {
  if (!isInstallable(type)) throw new Error(`This agent cannot install into ${type}. Assign it to an agent that can.`);
  return STORES[type];
}
