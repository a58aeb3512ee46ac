import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Issued } from "../../support/pki/authority";
import { freePort, startHaproxy as startHaproxyOn, startListening, startPostgres as startPostgresOn, writePair } from "../../support/pki/tls-servers";

/** What answers by a name: where, and what an agent needs to know to install its certificate. */
type Site = { name: string; port: number; isPostgres: boolean; trustStoreType: string; config: Record<string, unknown> };
/** A host's servers, as they were before the agent came; `keyPlaces` are where private keys may lie. */
export type Served = { sites: Site[]; reloads: string[][]; passwords: string[]; keyPlaces: string[]; keystore?: Keystore; stop: () => Promise<unknown> };
export type Keystore = { path: string; passwordFile: string };
type Starting = { directory: string; names: string[]; bootstrap: Issued; cluster: string };

export const KINDS = ["nginx", "haproxy", "postgres", "java"] as const;
export type Kind = (typeof KINDS)[number];

const verifying = (name: string, port: number) => ({ verifyEndpoint: `tls://127.0.0.1:${port}`, verifyServerName: name });

async function startNginx({ directory, names, bootstrap }: Starting): Promise<Served> {
  const [prefix, tls, port] = [join(directory, "nginx"), join(directory, "tls"), await freePort()];
  for (const each of [prefix, tls]) mkdirSync(each);
  for (const name of names) writePair(join(tls, `${name}.crt`), join(tls, `${name}.key`), bootstrap);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((each) => `${each}_temp_path ${prefix}/${each};`).join(" ");
  const servers = names.map(
    (name) => `server { listen 127.0.0.1:${port} ssl; server_name ${name}; ssl_certificate ${tls}/${name}.crt; ssl_certificate_key ${tls}/${name}.key; }`,
  );
  const config = join(prefix, "nginx.conf");
  writeFileSync(config, `pid ${prefix}/pid; events {} http { access_log off; server_names_hash_bucket_size 128; ${temporary}\n${servers.join("\n")}\n}`);
  const nginx = ["nginx", "-p", prefix, "-c", config, "-e", join(prefix, "error.log")];
  const { stop } = await startListening([...nginx, "-g", "daemon off;"], port);
  const reloadCommand = [...nginx, "-s", "reload"];
  const configOf = (name: string) => ({
    trustStorePath: tls,
    certFileName: `${name}.crt`,
    keyFileName: `${name}.key`,
    reloadCommand,
    ...verifying(name, port),
  });
  const sites = names.map((name) => ({ name, port, isPostgres: false, trustStoreType: "nginx_tls", config: configOf(name) }));
  return { sites, reloads: [reloadCommand], passwords: [], keyPlaces: [tls], stop };
}

async function startHaproxy({ directory, names, bootstrap }: Starting): Promise<Served> {
  const tls = join(directory, "tls");
  mkdirSync(tls);
  for (const name of names) writeFileSync(join(tls, `${name}.pem`), bootstrap.pem + bootstrap.privateKeyPem, { mode: 0o640 });
  const { port, reloadCommand, stop } = await startHaproxyOn(directory, tls);
  const configOf = (name: string) => ({ trustStorePath: tls, certFileName: `${name}.pem`, reloadCommand, ...verifying(name, port) });
  const sites = names.map((name) => ({ name, port, isPostgres: false, trustStoreType: "haproxy_tls", config: configOf(name) }));
  return { sites, reloads: [reloadCommand], passwords: [], keyPlaces: [tls], stop };
}

/** A Postgres of its own for each name, because one has one certificate. */
async function startPostgres({ directory, names, bootstrap, cluster }: Starting): Promise<Served> {
  const started = names.map(async (name) => {
    const place = join(directory, name);
    mkdirSync(place);
    const tls = join(place, "tls");
    const server = await startPostgresOn(place, cluster, () => writePair(join(tls, "server.crt"), join(tls, "server.key"), bootstrap));
    const { port, reloadCommand, stop } = server;
    const config = { trustStorePath: tls, reloadCommand, ...verifying(name, port) };
    return { site: { name, port, isPostgres: true, trustStoreType: "postgresql_server_tls", config }, reloadCommand, tls, stop };
  });
  const servers = await Promise.all(started);
  return {
    sites: servers.map(({ site }) => site),
    reloads: servers.map(({ reloadCommand }) => reloadCommand),
    passwords: [],
    keyPlaces: servers.map(({ tls }) => tls),
    stop: () => Promise.all(servers.map(({ stop }) => stop())),
  };
}

async function startJava({ directory, names }: Starting): Promise<Served> {
  const [port, app, passwordFile] = [await freePort(), join(directory, "app"), join(directory, "password")];
  mkdirSync(app);
  writeFileSync(passwordFile, crypto.randomUUID(), { mode: 0o600 });
  const keystore = { path: join(app, "servers.p12"), passwordFile };
  const java = ["java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", join(import.meta.dir, "KeystoreServer.java")];
  const { stop } = await startListening([...java, keystore.path, passwordFile, String(port)], port);
  const storePasswordRef = `file:${passwordFile}`;
  const configOf = (name: string) => ({ trustStorePath: keystore.path, alias: name, storePasswordRef, ...verifying(name, port) });
  const sites = names.map((name) => ({ name, port, isPostgres: false, trustStoreType: "java_keystore_pkcs12", config: configOf(name) }));
  return { sites, reloads: [], passwords: [storePasswordRef], keyPlaces: [], keystore, stop };
}

export const START: Record<Kind, (starting: Starting) => Promise<Served>> = {
  nginx: startNginx,
  haproxy: startHaproxy,
  postgres: startPostgres,
  java: startJava,
};
