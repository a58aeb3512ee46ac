import { HUP, open, type PresetServer, pair, systemd, write } from "./server";

/** Debian installs exim4 only in the place of postfix, and proftpd in that of vsftpd: `.ci/run` unpacks their packages here. */
const ROOT = "/opt/certitude-tests";

/** Servers that Debian does not install beside the others. */
export const UNPACKED: PresetServer[] = [
  {
    preset: "exim4",
    asking: ["-starttls", "smtp"],
    unit: { file: `${ROOT}/etc/init.d/exim4`, says: /^reload_exim\(\)\n[^;]{0,100}start-stop-daemon --stop --signal HUP/m },
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const program = `${ROOT}/usr/sbin/exim4`;
      const spool = open(place, "exim");
      const config = write(
        place,
        "exim.conf",
        `exim_path = ${program}\nexim_user = Debian-exim\nexim_group = Debian-exim\nspool_directory = ${spool}\nlog_file_path = ${spool}/%slog\npid_file_path = ${spool}/pid\nprimary_hostname = good.test
local_interfaces = 127.0.0.1\ndaemon_smtp_ports = ${place.port}\nhost_lookup =\ntls_advertise_hosts = *\ntls_certificate = ${certificate}\ntls_privatekey = ${key}\n`,
      );
      return { argv: [program, "-C", config, "-bdf"], reload: HUP };
    },
  },
  {
    preset: "proftpd",
    asking: ["-starttls", "ftp"],
    unit: systemd("proftpd", /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m, ROOT),
    prepare(place) {
      const [certificate, key] = pair(place.tls);
      const directory = open(place, "proftpd", 0o755);
      const config = write(
        place,
        "proftpd.conf",
        `ModulePath ${ROOT}/usr/lib/proftpd\nLoadModule mod_tls.c\nServerName good.test\nServerType standalone\nDefaultAddress 127.0.0.1\nSocketBindTight on\nPort ${place.port}\nUseIPv6 off\nUser nobody\nGroup nogroup
PidFile ${directory}/pid\nScoreboardFile ${directory}/scoreboard\nDelayEngine off\nUseReverseDNS off\nWtmpLog off\nSystemLog ${directory}/log\nTransferLog none
TLSEngine on\nTLSLog ${directory}/tls.log\nTLSECCertificateFile ${certificate}\nTLSECCertificateKeyFile ${key}\nTLSCertificateChainFile ${certificate}\n`,
      );
      return { argv: [`${ROOT}/usr/sbin/proftpd`, "-n", "-c", config], reload: HUP };
    },
  },
];
