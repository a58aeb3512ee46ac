import { HUP, open, type PresetServer, pair, restarted, systemd, write } from "./server";

const RNDC_KEY = 'key "rndc" {\n algorithm hmac-sha256;\n secret "c2NyYXRjaCBzY3JhdGNoIHNjcmF0Y2g=";\n};\n';

export const MARIADB: PresetServer = {
  preset: "mariadb-server",
  user: "mysql",
  asking: ["-starttls", "mysql"],
  prepare(place) {
    const data = open(place, "data");
    const socket = `${data}/socket`;
    const files = [`--ssl-cert=${place.tls}/server-cert.pem`, `--ssl-key=${place.tls}/server-key.pem`];
    const install = ["mariadb-install-db", "--no-defaults", "--user=mysql", `--datadir=${data}`, "--auth-root-authentication-method=socket", "--skip-test-db"];
    Bun.spawnSync(install);
    const options = ["--no-defaults", `--datadir=${data}`, `--socket=${socket}`, `--port=${place.port}`, "--bind-address=127.0.0.1", "--skip-log-bin"];
    return { argv: ["mariadbd", ...options, ...files], reload: ["/usr/bin/mariadb", "--no-defaults", `--socket=${socket}`] };
  },
};

export const BROKERS: PresetServer[] = [
  {
    preset: "mosquitto",
    unit: systemd("mosquitto", /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m),
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const config = write(
        place,
        "mosquitto.conf",
        `listener ${place.port} 127.0.0.1\ncertfile ${certificate}\nkeyfile ${key}\nallow_anonymous true\nuser mosquitto\nlog_dest none\n`,
      );
      return { argv: ["mosquitto", "-c", config], reload: HUP };
    },
  },
  {
    preset: "nats-server",
    user: "nats",
    unit: systemd("nats-server", /^ExecReload=\/bin\/kill -s HUP \$MAINPID$/m),
    prepare(place) {
      const [cert_file, key_file] = pair(place.tls);
      const config = write(place, "nats.conf", `listen: "127.0.0.1:${place.port}"\ntls { cert_file: "${cert_file}", key_file: "${key_file}" }\n`);
      return { argv: ["nats-server", "-c", config], reload: HUP };
    },
  },
  {
    preset: "rabbitmq-server",
    user: "rabbitmq",
    prepare(place) {
      const [certfile, keyfile] = pair(place.tls);
      const data = open(place, "rabbit");
      const lines = [
        "listeners.tcp = none",
        `listeners.ssl.1 = 127.0.0.1:${place.port}`,
        `ssl_options.certfile = ${certfile}`,
        `ssl_options.keyfile = ${keyfile}`,
        "ssl_options.verify = verify_none",
      ];
      const environment = {
        HOME: data,
        RABBITMQ_NODENAME: `certitude${place.port}@localhost`,
        RABBITMQ_BASE: data,
        RABBITMQ_MNESIA_BASE: data,
        RABBITMQ_LOG_BASE: data,
        RABBITMQ_LOGS: "-",
        RABBITMQ_CONFIG_FILE: write(place, "rabbitmq.conf", lines.map((each) => `${each}\n`).join("")),
        RABBITMQ_ENABLED_PLUGINS_FILE: write(place, "plugins", "[]."),
        RABBITMQ_DIST_PORT: String(place.spare),
        ERL_EPMD_PORT: String(place.spare + 1),
        ERL_EPMD_ADDRESS: "127.0.0.1",
      };
      const account = Bun.spawnSync(["id", "-u", "rabbitmq"]).stdout.toString().trim();
      const asServer = ["setpriv", `--reuid=${account}`, "--clear-groups", "env", ...Object.entries(environment).map((each) => each.join("="))];
      return {
        argv: ["/usr/lib/rabbitmq/bin/rabbitmq-server"],
        environment,
        reload: [...asServer, "/usr/lib/rabbitmq/bin/rabbitmqctl"],
        end: ["epmd", "-kill"],
      };
    },
  },
  MARIADB,
  {
    preset: "bind9",
    unit: systemd("named", /^ExecReload=\/usr\/sbin\/rndc reload$/m),
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const directory = open(place, "bind");
      const config = write(
        place,
        "named.conf",
        `${RNDC_KEY}tls scratch {\n cert-file "${certificate}";\n key-file "${key}";\n};\ncontrols { inet 127.0.0.1 port ${place.spare} allow { 127.0.0.1; } keys { "rndc"; }; };
options {\n directory "${directory}";\n pid-file "${directory}/pid";\n session-keyfile "${directory}/session.key";\n listen-on port ${place.port} tls scratch { 127.0.0.1; };\n listen-on-v6 { none; };\n recursion no;\n dnssec-validation no;\n};\n`,
      );
      const control = write(place, "rndc.conf", `${RNDC_KEY}options {\n default-key "rndc";\n default-server 127.0.0.1;\n default-port ${place.spare};\n};\n`);
      return { argv: ["named", "-f", "-u", "bind", "-c", config], reload: ["rndc", "-c", control, "reload"] };
    },
  },
  {
    preset: "unbound",
    unit: systemd("unbound", /^ExecStart=\/usr\/sbin\/unbound -d -p/m),
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const directory = open(place, "unbound");
      const config = write(
        place,
        "unbound.conf",
        `server:\n interface: 127.0.0.1@${place.port}\n tls-port: ${place.port}\n tls-service-key: "${key}"\n tls-service-pem: "${certificate}"\n username: "unbound"\n chroot: ""\n directory: "${directory}"\n pidfile: "${directory}/pid"\n use-syslog: no\nremote-control:\n control-enable: no\n`,
      );
      return restarted(place, ["unbound", "-d", "-p", "-c", config]);
    },
  },
];
