import { hostname } from "node:os";
import { HUP, open, type PresetServer, pair, systemd, write } from "./server";

export const APACHE: PresetServer = {
  preset: "apache2",
  unit: systemd("apache2", /^ExecReload=\/usr\/sbin\/apachectl graceful$/m),
  prepare(place) {
    const [certificate, key] = pair(place.tls);
    const modules = ["mpm_event", "authz_core", "ssl"].map((each) => `LoadModule ${each}_module /usr/lib/apache2/modules/mod_${each}.so`).join("\n");
    const config = write(
      place,
      "apache.conf",
      `ServerRoot ${place.directory}\nServerName good.test\nPidFile ${place.directory}/pid\nErrorLog ${place.directory}/log\nUser www-data\nGroup www-data\n${modules}
Mutex posixsem\nListen 127.0.0.1:${place.port}\nSSLEngine on\nSSLCertificateFile ${certificate}\nSSLCertificateKeyFile ${key}\n`,
    );
    const apache = ["apache2", "-f", config];
    return { argv: [...apache, "-DFOREGROUND"], reload: [...apache, "-k", "graceful"] };
  },
};

export const WEB: PresetServer[] = [
  APACHE,
  {
    preset: "caddy",
    user: "caddy",
    unit: systemd("caddy", /^ExecReload=\/usr\/bin\/caddy reload --config \S+ --force$/m),
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const socket = `${open(place, "caddy")}/admin.sock`;
      const config = write(
        place,
        "Caddyfile",
        `{\n admin unix/${socket}\n auto_https off\n storage file_system ${place.directory}/caddy\n}\nhttps://good.test:${place.port} {\n bind 127.0.0.1\n tls ${certificate} ${key}\n respond trusted\n}\n`,
      );
      const caddy = (action: string) => ["caddy", action, "--config", config, "--adapter", "caddyfile"];
      return { argv: caddy("run"), reload: [...caddy("reload"), "--address", `unix/${socket}`, "--force"] };
    },
  },
  {
    preset: "lighttpd",
    unit: systemd("lighttpd", /^ExecReload=\/bin\/kill -USR1 \$MAINPID$/m),
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const config = write(
        place,
        "lighttpd.conf",
        `server.modules = ("mod_openssl")\nserver.document-root = "${place.directory}"\nserver.username = "www-data"\nserver.groupname = "www-data"
server.bind = "127.0.0.1"\nserver.port = ${place.port}\nssl.engine = "enable"\nssl.pemfile = "${certificate}"\nssl.privkey = "${key}"\n`,
      );
      return { argv: ["lighttpd", "-D", "-f", config], reload: ["signal", "USR1"] };
    },
  },
  {
    preset: "squid",
    unit: systemd("squid", /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m),
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const directory = open(place, "squid");
      const config = write(
        place,
        "squid.conf",
        `https_port 127.0.0.1:${place.port} accel defaultsite=good.test tls-cert=${certificate} tls-key=${key}\nhttp_access deny all\ncache deny all\naccess_log none
cache_log ${directory}/log\npid_filename ${directory}/pid\ncoredump_dir ${directory}\ncache_effective_user proxy\npinger_enable off\nshutdown_lifetime 0 seconds\nvisible_hostname good.test\nnetdb_filename none\n`,
      );
      return { argv: ["squid", "-N", "-n", `s${place.port}`, "-f", config], reload: HUP };
    },
  },
  {
    preset: "stunnel4",
    unit: { file: "/etc/init.d/stunnel4", says: /force-reload\|reload\)[^)]{0,80}killdaemons HUP/ },
    prepare(place) {
      const config = write(
        place,
        "stunnel.conf",
        `foreground = yes\npid =\n[scratch]\naccept = 127.0.0.1:${place.port}\nexec = /bin/cat\nexecArgs = cat\ncert = ${place.tls}/stunnel.pem\n`,
      );
      return { argv: ["stunnel4", config], reload: HUP };
    },
  },
  {
    preset: "cups",
    prepare(place) {
      const directory = open(place, "cups");
      const [temporary, requests] = [open(place, "cups/tmp"), open(place, "cups/requests")];
      const config = write(
        place,
        "cupsd.conf",
        `Listen 127.0.0.1:${place.port}\nServerName ${hostname()}\nHostNameLookups Off\nBrowsing Off\nLogLevel warn\n<Location />\nAllow all\n</Location>\n`,
      );
      const files = write(
        place,
        "cups-files.conf",
        `ServerRoot ${directory}\nStateDir ${directory}\nCacheDir ${directory}\nRequestRoot ${requests}\nTempDir ${temporary}\nDocumentRoot ${directory}
ErrorLog ${directory}/log\nAccessLog ${directory}/access\nPageLog ${directory}/page\nServerKeychain ${place.tls}\nCreateSelfSignedCerts no\nUser lp\nGroup lp\nSystemGroup root\n`,
      );
      return { argv: ["cupsd", "-f", "-c", config, "-s", files], reload: [] };
    },
  },
];
