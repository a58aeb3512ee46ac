import { describe, expect, test } from "bun:test";
import type { Policy } from "#agent/policy/policy";
import { isPermitted, type Seen } from "#agent/policy/rules";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";

const FACTS = { ownNames: ["web-1", "192.0.2.7", "2001:db8::7"] };
const permits = (policy: Policy, demand: Seen) => isPermitted(demand, policy, FACTS);
const path = (
  kind: "directory" | "file" | "named file" | "python" | "module" | "webroot",
  real: string,
  more: { path?: string; isOwn?: boolean } = {},
): Seen => ({
  kind,
  path: more.path ?? real,
  field: "trustStorePath",
  real,
  isOwn: more.isOwn ?? false,
});
const value = (field: string, given: string | string[], storeType: TrustStoreType = "java_cacerts"): Seen => ({
  kind: "value",
  storeType,
  field,
  value: given,
});
const reload = (...argv: string[]): Seen => ({ kind: "reload", argv });

describe("directories and files", () => {
  const policy = { directories: ["/etc/ssl/mine"] };

  test("a directory is permitted with those below it, and the store's own place", () => {
    for (const real of ["/etc/ssl/mine", "/etc/ssl/mine/deep/er"]) expect(permits(policy, path("directory", real))).toBe(true);
    expect(permits({}, path("directory", "/etc/nginx/ssl", { isOwn: true }))).toBe(true);
    expect(permits({ directories: ["/"] }, path("directory", "/srv"))).toBe(true);
  });

  test.each([
    ["nothing said", {}, "/etc/ssl/mine"],
    ["a neighbour that begins alike", policy, "/etc/ssl/mine-too"],
    ["the directory above", policy, "/etc/ssl"],
    ["another case", policy, "/etc/ssl/MINE"],
    ["a name with dots that is no way up", policy, "/etc/ssl/..mine"],
    ["a file of that name", { files: ["/etc/ssl/mine"] }, "/etc/ssl/mine"],
  ])("a directory is not permitted: %s", (_what, given, real) => expect(permits(given, path("directory", real))).toBe(false));

  test("each is judged by where its links lead, not by its name", () => {
    expect(permits(policy, path("directory", "/etc/cron.d", { path: "/etc/ssl/mine/link" }))).toBe(false);
    expect(permits(policy, path("directory", "/etc/ssl/mine", { path: "/srv/link" }))).toBe(true);
    expect(permits({ files: ["/opt/a.pem"] }, path("file", "/etc/a.pem", { path: "/opt/a.pem" }))).toBe(false);
  });

  test("a bundle is permitted by its name, or by its directory where it has the name of a certificate", () => {
    expect(permits({ files: ["/opt/app/cacerts"] }, path("file", "/opt/app/cacerts"))).toBe(true);
    expect(permits({ directories: ["/opt/app"] }, path("file", "/opt/app/bundle.pem"))).toBe(true);
    expect(permits({ directories: ["/opt/app"] }, path("file", "/opt/app/cacerts"))).toBe(false);
    expect(permits({}, path("file", "/opt/app/bundle.pem"))).toBe(false);
    for (const name of ["nginx.conf", "authorized_keys", "job", ".bashrc", ".a.pem", "evil.so", "run.sh", "a.pem.sh", "pg_hba.conf"])
      expect([name, permits({ directories: ["/opt/app"] }, path("file", `/opt/app/${name}`))]).toEqual([name, false]);
  });

  test("settings, and what has no certificate's name, are permitted by their own name alone, never by a directory or as the store's own", () => {
    const file = path("named file", "/etc/environment", { isOwn: true });
    expect(permits({ directories: ["/", "/etc"] }, file)).toBe(false);
    expect(permits({ files: ["/etc/environment"] }, file)).toBe(true);
    expect(permits({ directories: ["/etc"] }, path("named file", "/etc/ld.so.preload.pem"))).toBe(false);
  });

  test.each(["/proc/self/root/etc/a.pem", "/sys/a.pem", "/dev/shm/a.pem", "/proc/1/environ", "/proc"])("%s is permitted by nothing", (real) => {
    for (const kind of ["directory", "file", "named file", "python"] as const) {
      expect(permits({ directories: ["/"], files: [real], pythonVenvs: [real] }, path(kind, real, { isOwn: true }))).toBe(false);
      expect(permits({ directories: ["/"], files: ["/etc/a.pem"], pythonVenvs: ["/etc/a.pem"] }, path(kind, "/etc/a.pem", { path: real }))).toBe(false);
    }
  });

  test("a virtual environment, and a library that is loaded, is permitted by itself, not by what lies above it", () => {
    expect(permits({ pythonVenvs: ["/opt/venv"] }, path("python", "/opt/venv"))).toBe(true);
    expect(permits({ pythonVenvs: ["/opt"], directories: ["/"] }, path("python", "/opt/venv"))).toBe(false);
    expect(permits({ pkcs11Modules: ["/lib/x.so"] }, path("module", "/lib/x.so"))).toBe(true);
    expect(permits({ files: ["/lib/x.so"], directories: ["/"], pkcs11Modules: ["/lib"] }, path("module", "/lib/x.so", { isOwn: true }))).toBe(false);
  });
});

describe("reloads", () => {
  test.each([
    "systemctl reload nginx",
    "systemctl reload haproxy.service",
    "systemctl reload postgresql",
    "systemctl reload postgresql@17-main",
    "systemctl reload redis-server",
    "systemctl reload apache2",
    "nginx -s reload",
    "update-ca-certificates",
    "update-ca-certificates --fresh",
    "apachectl graceful",
    "systemctl restart slapd",
    "rabbitmqctl eval ssl:clear_pem_cache().",
  ])("%s needs no policy", (line) => expect(permits({}, reload(...line.split(" ")))).toBe(true));

  test.each([
    [["sh", "-c", "id"]],
    [["systemctl", "restart", "nginx"]],
    [["systemctl", "reload", "sshd"]],
    [["systemctl", "reload", "../evil"]],
    [["systemctl", "reload", "/tmp/evil.service"]],
    [["systemctl", "reload", "postgresql@-H evil"]],
    [["systemctl", "reload", "nginx", "sshd"]],
    [["systemctl", "reload nginx"]],
    [["systemctl", "-H", "evil", "reload", "nginx"]],
    [["nginx", "-s", "reload", "-c", "/tmp/evil.conf"]],
    [["nginx -s reload"]],
    [["/tmp/nginx", "-s", "reload"]],
    [["update-ca-certificates", "--hooksdir", "/tmp"]],
    [["Nginx", "-s", "reload"]],
    [[""]],
  ])("%j is permitted only word for word", (argv) => {
    expect(permits({}, reload(...argv))).toBe(false);
    expect(permits({ reloads: [[...argv, "more"], argv.slice(0, -1)] }, reload(...argv))).toBe(false);
    expect(permits({ reloads: [argv] }, reload(...argv))).toBe(true);
  });

  test("a word * of reloads is that word, and stands for no other", () => {
    expect(permits({ reloads: [["systemctl", "restart", "*"]] }, reload("systemctl", "restart", "sshd"))).toBe(false);
    expect(permits({ reloads: [["systemctl", "restart", "*"]] }, reload("systemctl", "restart", "*"))).toBe(true);
  });

  test("in a pattern it stands for one word, which is no option, path or setting", () => {
    const policy = { reloadPatterns: [["systemctl", "restart", "*"]] };
    expect(permits(policy, reload("systemctl", "restart", "my-app@1.service"))).toBe(true);
    for (const word of ["", "-H", "@words", "--host=evil", "/tmp/evil.service", "../evil", "a b", "A=b", "a/../b", "a..b", "$(id)", "a\nb"])
      expect([word, permits(policy, reload("systemctl", "restart", word))]).toEqual([word, false]);
    expect(permits(policy, reload("systemctl", "restart"))).toBe(false);
    expect(permits(policy, reload("systemctl", "restart", "a", "b"))).toBe(false);
    expect(permits(policy, reload("/tmp/systemctl", "restart", "a"))).toBe(false);
  });

  test("in a pattern for systemctl it stands for a service: never for a unit that stops the machine, for several, or for one of systemd's own", () => {
    const policy = {
      reloadPatterns: [
        ["systemctl", "restart", "*"],
        ["/usr/bin/systemctl", "--no-block", "start", "*"],
        ["systemctl", "*", "nginx"],
      ],
    };
    for (const word of ["app", "app.service", "my-app@1.service", "postgresql@15-main"]) {
      expect([word, permits(policy, reload("systemctl", "restart", word))]).toEqual([word, true]);
      expect([word, permits(policy, reload("/usr/bin/systemctl", "--no-block", "start", word))]).toEqual([word, true]);
    }
    for (const word of [
      "poweroff.target",
      "reboot.target",
      "ssh.socket",
      "apt-daily.timer",
      "home.mount",
      "dev-sda.swap",
      "user.slice",
      "session-1.scope",
      "p*.target",
      "a*",
      "a?",
      "app[1]",
      "systemd-poweroff.service",
      "systemd-reboot",
      "emergency",
      "rescue.service",
      "debug-shell",
    ])
      for (const argv of [
        ["systemctl", "restart", word],
        ["/usr/bin/systemctl", "--no-block", "start", word],
      ])
        expect([argv, permits(policy, reload(...argv))]).toEqual([argv, false]);
    expect(permits(policy, reload("systemctl", "stop", "nginx"))).toBe(false);
    expect(permits({ reloads: [["systemctl", "isolate", "rescue.target"]] }, reload("systemctl", "isolate", "rescue.target"))).toBe(true);
  });

  test.each([
    "sh",
    "bash",
    "/usr/bin/dash",
    "python3.13",
    "perl",
    "node",
    "env",
    "sudo",
    "xargs",
    "find",
    "busybox",
    "ssh",
    "docker",
    "awk",
    "systemd-run",
    "make",
    "git",
  ])("a pattern permits nothing of %s, which runs whatever a word says; word for word it does", (program) => {
    expect(
      permits(
        {
          reloadPatterns: [
            [program, "*"],
            [program, "-c", "*"],
          ],
        },
        reload(program, "id"),
      ),
    ).toBe(false);
    expect(permits({ reloadPatterns: [[program, "-c", "*"]] }, reload(program, "-c", "id"))).toBe(false);
    expect(permits({ reloads: [[program, "-c", "id"]] }, reload(program, "-c", "id"))).toBe(true);
  });
});

describe("flags of Node.js", () => {
  test.each(["--use-openssl-ca", "--no-warnings", "--max-old-space-size=300", "--title=my node", "--dns-result-order=ipv4first", "--tls-min-v1.2"])(
    "%s is harmless",
    (flag) => expect(permits({}, { kind: "node flag", flag })).toBe(true),
  );

  test.each([
    "--import=data:text/javascript,evil()",
    "--require=/tmp/evil.js",
    "-r=/tmp/evil.js",
    "--loader=/tmp/evil.mjs",
    "--experimental-loader=/tmp/evil.mjs",
    "--openssl-config=/tmp/evil.cnf",
    "--openssl-shared-config",
    "--inspect=0.0.0.0:9229",
    "--diagnostic-dir=/etc",
    "--tls-keylog=/tmp/keys",
    "--tls-min-v1.0",
    "--tls-cipher-list=NULL",
    "--env-file=/etc/shadow",
    "--no-warnings --import=/tmp/evil.mjs",
    "--title=x\n--import=/tmp/evil.mjs",
    '--title=x" --import=/tmp/evil.mjs',
    "--max-old-space-size=1 --import=/tmp/evil.mjs",
    "--redirect-warnings=/etc/passwd",
    "--NO-WARNINGS",
  ])("%s is permitted only word for word", (flag) => {
    expect(permits({ nodeFlags: [flag.slice(0, -1)] }, { kind: "node flag", flag })).toBe(false);
    expect(permits({ nodeFlags: [flag] }, { kind: "node flag", flag })).toBe(true);
  });
});

describe("what is read, reached and released", () => {
  test("a password comes only from where the policy says, to the letter", () => {
    const reference = "file:/etc/app.password";
    expect(permits({}, { kind: "password", reference })).toBe(false);
    expect(permits({ passwords: [reference] }, { kind: "password", reference })).toBe(true);
    for (const other of ["file:/etc/shadow", "file://etc/app.password", "file:/etc/app.password/", "file:/etc/APP.password", "env:HOME"])
      expect([other, permits({ passwords: [reference] }, { kind: "password", reference: other })]).toEqual([other, false]);
  });

  test.each(["localhost:443", "127.0.0.1:6379", "127.8.9.1:1", "[::1]:443", "web-1:443", "192.0.2.7:443", "[2001:db8::7]:443"])("%s is this host", (endpoint) =>
    expect(permits({}, { kind: "endpoint", endpoint })).toBe(true),
  );

  test.each([
    "169.254.169.254:443",
    "10.0.0.1:22",
    "0.0.0.0:443",
    "[::ffff:127.0.0.1]:443",
    "web-10:443",
    "localhost.evil.test:443",
    "127.0.0.1.evil.test:443",
    "example.org:443",
  ])("%s is not, and is reached only if the policy says so, with its port", (endpoint) => {
    expect(permits({}, { kind: "endpoint", endpoint })).toBe(false);
    expect(permits({ endpoints: [endpoint.replace(/\d+$/, "1")] }, { kind: "endpoint", endpoint })).toBe(false);
    expect(permits({ endpoints: [endpoint] }, { kind: "endpoint", endpoint })).toBe(true);
  });

  test.each(["good.test", "2001:db8::1", "_srv.a-b"])("%s is the name of a server", (name) => expect(permits({}, value("verifyServerName", name))).toBe(true));

  test.each(["a b", "x' to='evil", "a\r\nMAIL FROM:<x>", "<a/>", "", "-x"])("%j is none, whatever the policy says", (name) =>
    expect(permits({ endpoints: [name] }, value("verifyServerName", name))).toBe(false),
  );

  test.each([
    ["alias", "-J-agentlib:jdwp=transport=dt_socket,server=y"],
    ["alias", "@/etc/passwd"],
    ["dbUser", "-x"],
    ["certFileName", "--help"],
    ["reloadCommand", ["systemctl", "reload", "nginx\n"]],
    ["nodeFlags", ["x"]],
  ])("%s may not be %j, whatever the policy says", (field, words) => {
    const all = { directories: ["/"], files: ["/"], accounts: ["-x"], nodeFlags: ["x"], reloads: [["systemctl", "reload", "nginx\n"]] };
    expect(permits(all, value(field, words))).toBe(false);
  });

  test.each(["*", "a b", "_x", ".x", "ä"])("%j is no name of an anchor of the system's, though elsewhere it may be an alias", (alias) => {
    expect(permits({}, value("alias", alias, "linux_update_ca_certificates"))).toBe(false);
    expect(permits({}, value("alias", alias))).toBe(true);
  });

  test("stores, accounts, owners and private keys", () => {
    expect(permits({}, { kind: "store", type: "nginx_tls" })).toBe(true);
    expect(permits({ stores: ["java_cacerts"] }, { kind: "store", type: "nginx_tls" })).toBe(false);
    expect(permits({ stores: [] }, { kind: "store", type: "nginx_tls" })).toBe(false);
    expect(permits({}, { kind: "account", name: "ada" })).toBe(false);
    expect(permits({ accounts: ["ada"] }, { kind: "account", name: "ada" })).toBe(true);
    for (const name of ["root", ":www-data"]) expect(permits({}, { kind: "file owner", name, field: "fileOwner" })).toBe(true);
    for (const name of ["ada", "www-data", ":shadow"]) {
      expect(permits({ fileOwners: [`${name}x`] }, { kind: "file owner", name, field: "fileOwner" })).toBe(false);
      expect(permits({ fileOwners: [name] }, { kind: "file owner", name, field: "fileOwner" })).toBe(true);
    }
    for (const [port, answer] of [
      [80, true],
      [8_080, true],
      [8, false],
      [443, false],
    ] as const)
      expect([port, permits({ challengePorts: ["80", "8080"] }, { kind: "challenge port", port })]).toEqual([port, answer]);
    for (const [real, answer] of [
      ["/var/www", true],
      ["/var/www/html", true],
      ["/var/www2", false],
      ["/var", false],
    ] as const)
      expect([real, permits({ webroots: ["/var/www"], directories: ["/"] }, path("webroot", real))]).toEqual([real, answer]);
    expect(permits({ webroots: ["/"] }, path("webroot", "/srv", { path: "/proc/self/cwd" }))).toBe(false);
    expect(permits({}, { kind: "private key" })).toBe(false);
    expect(permits({ privateKeys: false }, { kind: "private key" })).toBe(false);
    expect(permits({ privateKeys: true }, { kind: "private key" })).toBe(true);
  });

  test.each([
    ["0600", true, true],
    ["0640", true, true],
    ["0400", true, true],
    ["0644", true, false],
    ["0660", true, false],
    ["0777", true, false],
    ["4600", true, false],
    ["0644", false, true],
    ["0666", false, false],
    ["0755", false, false],
  ])("the mode %s of a file, with a private key: %p, is permitted: %p", (mode, holdsKey, answer) => {
    expect(permits({}, { kind: "key mode", mode, holdsKey })).toBe(answer);
    expect(permits({ keyModes: [mode] }, { kind: "key mode", mode, holdsKey })).toBe(true);
  });
});
