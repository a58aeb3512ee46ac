import { chownSync } from "node:fs";
import { accountOf, HUP, open, type PresetServer, pair, restarted, systemd, write } from "./server";

/** Servers that are asked for TLS in their own protocol. */
export const MAIL: PresetServer[] = [
  {
    preset: "postfix",
    asking: ["-starttls", "smtp"],
    unit: systemd("postfix@", /^ExecReload=\/usr\/sbin\/postmulti -i %i -p reload$/m),
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const [queue, data, config] = [open(place, "queue", 0o755), open(place, "data", 0o755), open(place, "postfix", 0o755)];
      chownSync(data, accountOf("postfix").uid, accountOf("postfix").gid);
      write(
        place,
        "postfix/main.cf",
        `compatibility_level = 3.6\nqueue_directory = ${queue}\ndata_directory = ${data}\nmyhostname = good.test\ninet_interfaces = 127.0.0.1\nmaillog_file = ${place.directory}/maillog\nmaillog_file_prefixes = ${place.directory}
smtpd_tls_cert_file = ${certificate}\nsmtpd_tls_key_file = ${key}\nsmtpd_tls_security_level = may\n`,
      );
      const services = ["cleanup unix n - n - 0", "rewrite unix - - n - -", "anvil unix - - n - 1", "tlsmgr unix - - n 1000? 1", "proxymap unix - - n - -"];
      const named = services.map((each) => `${each} ${each.split(" ")[0]?.replace("rewrite", "trivial-rewrite")}`);
      write(place, "postfix/master.cf", [`127.0.0.1:${place.port} inet n - n - - smtpd`, ...named, "postlog unix-dgram n - n - 1 postlogd", ""].join("\n"));
      return { argv: ["postfix", "-c", config, "start-fg"], reload: ["postfix", "-c", config, "reload"], end: ["/usr/sbin/postfix", "-c", config, "stop"] };
    },
  },
  {
    preset: "dovecot",
    asking: ["-starttls", "imap"],
    unit: systemd("dovecot", /^ExecReload=\/usr\/bin\/doveadm reload$/m),
    prepare(place) {
      const base = open(place, "dovecot", 0o755);
      const config = write(
        place,
        "dovecot.conf",
        `base_dir = ${base}\nprotocols = imap\nlog_path = ${place.directory}/log\nlisten = 127.0.0.1\nssl = required\nssl_cert = <${place.tls}/dovecot.pem\nssl_key = <${place.tls}/dovecot.key
service imap-login {\n inet_listener imap {\n port = ${place.port}\n }\n inet_listener imaps {\n port = 0\n }\n}\npassdb {\n driver = static\n args = nopassword=y\n}\nuserdb {\n driver = static\n args = uid=nobody gid=nogroup home=/nonexistent\n}\n`,
      );
      return { argv: ["dovecot", "-F", "-c", config], reload: ["doveadm", "-c", config, "reload"] };
    },
  },
  {
    preset: "slapd",
    asking: ["-starttls", "ldap"],
    unit: { file: "/etc/init.d/slapd", says: /restart\|force-reload\)/ },
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const config = write(place, "slapd.conf", `TLSCertificateFile ${certificate}\nTLSCertificateKeyFile ${key}\ndatabase config\n`);
      return restarted(place, ["slapd", "-d", "0", "-u", "openldap", "-g", "openldap", "-f", config, "-h", `ldap://127.0.0.1:${place.port}`]);
    },
  },
  {
    preset: "vsftpd",
    asking: ["-starttls", "ftp"],
    unit: systemd("vsftpd", /^ExecStart=\/usr\/sbin\/vsftpd \/etc\/vsftpd.conf$/m),
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const settings = {
        listen: "YES",
        listen_address: "127.0.0.1",
        listen_port: place.port,
        background: "NO",
        ssl_enable: "YES",
        rsa_cert_file: certificate,
        rsa_private_key_file: key,
        secure_chroot_dir: open(place, "empty", 0o755),
        isolate: "NO",
        isolate_network: "NO",
        seccomp_sandbox: "NO",
        xferlog_enable: "NO",
      };
      const lines = Object.entries(settings).map((each) => `${each.join("=")}\n`);
      return restarted(place, ["vsftpd", write(place, "vsftpd.conf", lines.join(""))]);
    },
  },
  {
    preset: "prosody",
    user: "prosody",
    verified: { verifyServerName: "good.test" },
    asking: ["-starttls", "xmpp", "-xmpphost", "good.test"],
    unit: systemd("prosody", /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m),
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const data = open(place, "prosody");
      const config = write(
        place,
        "prosody.cfg.lua",
        `data_path = "${data}"\npidfile = "${data}/pid"\nlog = { error = "${data}/log" }\nmodules_enabled = { "tls"; "saslauth"; "roster" }\nmodules_disabled = { "s2s"; "offline" }\ninterfaces = { "127.0.0.1" }\nlocal_interfaces = { "127.0.0.1" }
c2s_ports = { ${place.port} }\nc2s_direct_tls_ports = { }\nauthentication = "internal_hashed"\nssl = { certificate = "${certificate}"; key = "${key}" }\nVirtualHost "good.test"\n`,
      );
      return { argv: ["prosody", "-F", "--config", config], reload: HUP };
    },
  },
];
