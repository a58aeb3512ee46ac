import { describe, expect, test } from "bun:test";
import Ajv from "ajv";
import { parsePolicy } from "#agent/policy/parse";
import { type Grant, type Policy, PolicySchema, withGrant, withoutGrant } from "#agent/policy/policy";
import { INSTALLABLE } from "#modules/fleet/trust-stores/rules/installable";

const WHOLE: Required<Policy> = {
  $schema: "./policy.schema.json",
  stores: ["nginx_tls", "java_cacerts"],
  anchors: [
    "any stores:nginx_tls",
    `sha256:${"0a".repeat(32)} signed-by:${"b1".repeat(32)}`,
    "names:corp.example,10.0.0.0/8,2001:db8::/32 stores:java_cacerts,nss_shared_db",
  ],
  directories: ["/etc/ssl/mine", "/"],
  files: ["/etc/environment"],
  reloads: [["sh", "-c", "echo *"]],
  reloadPatterns: [["systemctl", "restart", "*"]],
  nodeFlags: ["--import=/opt/app/hook.mjs"],
  passwords: ["env:STORE_PASSWORD", "file:/etc/app.password"],
  endpoints: ["www.example.org:8443", "10.0.0.7:443", "[2001:db8::1]:443"],
  pythonVenvs: ["/opt/venv"],
  pkcs11Modules: ["/usr/lib/softhsm/libsofthsm2.so"],
  accounts: ["ada", "svc-web_1"],
  fileOwners: ["ada", ":ssl-cert"],
  keyModes: ["0660"],
  webroots: ["/var/www/html"],
  challengePorts: ["80", "65535"],
  privateKeys: true,
};

describe("a policy's text", () => {
  test("is taken with every field, and with none", () => {
    expect(parsePolicy(JSON.stringify(WHOLE))).toEqual({ policy: WHOLE });
    expect(parsePolicy("{}")).toEqual({ policy: {} });
  });

  test("has a schema that takes the same", () => {
    const isValid = new Ajv().compile(JSON.parse(JSON.stringify(PolicySchema)));
    expect(isValid(WHOLE)).toBe(true);
    for (const bad of [{ storse: [] }, { stores: "x" }, { reloads: ["sh"] }, { reloads: [[]] }, { privateKeys: 1 }]) {
      expect([bad, isValid(bad)]).toEqual([bad, false]);
      expect(parsePolicy(JSON.stringify(bad))).toMatchObject({ faults: [expect.any(String)] });
    }
  });

  test.each<[string, string]>([
    ["", "It is not JSON ("],
    ["{", "It is not JSON ("],
    ["// none\n{}", "It is not JSON ("],
    ["[]", "It must be a JSON object"],
    ["null", "It must be a JSON object"],
    ['"all"', "It must be a JSON object"],
    ['{"directorys": []}', "directorys is not a field of a policy. Did you mean directories?"],
    ['{"Reloads": []}', "Reloads is not a field of a policy. Did you mean reloads?"],
    ['{"privatekey": true}', "privatekey is not a field of a policy. Did you mean privateKeys?"],
    ['{"comment": "x"}', "comment is not a field of a policy. There are stores, anchors, directories, "],
    ['{"__proto__": {}}', "__proto__ is not a field of a policy."],
    ['{"privateKeys": "yes"}', "privateKeys must be true or false."],
    ['{"stores": {}}', "stores must be a list of texts"],
    ['{"reloads": ["nginx -s reload"]}', "reloads must be a list of commands, each a list of words"],
    ['{"reloads": [[""]]}', "reloads[0], '', must begin with a program."],
    ['{"stores": ["nginx"]}', "stores[0], nginx, is no kind of store that this agent installs into."],
    ['{"stores": ["nginx_tsl"]}', "Did you mean nginx_tls?"],
    ['{"anchors": ["corp"]}', "anchors[0], corp, must be any, sha256:…, signed-by:… (64 hexadecimal digits) or names:"],
    ['{"anchors": ["sha256:AB"]}', '"sha256:AB" is none of these.'],
    ['{"anchors": ["names:*.corp.example"]}', '"names:*.corp.example" is none of these.'],
    ['{"anchors": ["names:10.0.0.0/33"]}', '"names:10.0.0.0/33" is none of these.'],
    ['{"anchors": ["any stores:nginx"]}', '"stores:nginx" is none of these.'],
    ['{"anchors": ["stores:nginx_tls"]}', "must be any, sha256:…"],
    ['{"reloadPatterns": [["systemctl", "--no-block", "*", "nginx"]]}', "must name what systemctl does: only the service may be *."],
    ['{"directories": ["etc/ssl"]}', "directories[0], etc/ssl, must be an absolute path."],
    ['{"directories": ["/etc", "/etc/../root"]}', "directories[1], /etc/../root, must be written the direct way, as /root."],
    ['{"directories": ["/etc/"]}', "must be written the direct way, as /etc."],
    ['{"files": ["/proc/self/mem"]}', "lies in /proc, /sys or /dev, which no policy permits."],
    ['{"files": ["/etc/a\\u202eb"]}', "holds a control character or an invisible one, which no policy permits."],
    ['{"reloads": [["a\\nb"]]}', "holds a control character or an invisible one"],
    ['{"reloadPatterns": [["sh", "-c", "*"]]}', "names sh, which runs whatever an argument says: permit each command word for word, in reloads."],
    ['{"reloadPatterns": [["*", "reload"]]}', "must name its program, as the first word."],
    ['{"reloadPatterns": [["systemctl", "reload"]]}', "holds no word *; one without belongs into reloads."],
    ['{"nodeFlags": ["import"]}', "must be a flag"],
    ['{"passwords": ["changeit"]}', "must be env:NAME or file:/path."],
    ['{"passwords": ["file:relative"]}', "must be env:NAME or file:/path."],
    ['{"endpoints": ["https://a"]}', "must be a host in lower case and a port"],
    ['{"endpoints": ["*.example.org:443"]}', "must be a host in lower case and a port"],
    ['{"endpoints": ["a:70000"]}', "must be a host in lower case and a port"],
    ['{"endpoints": ["[nonsense]:1"]}', "must be a host in lower case and a port"],
    ['{"webroots": ["/proc/self/cwd"]}', "lies in /proc, /sys or /dev, which no policy permits."],
    ['{"challengePorts": ["65536"]}', "challengePorts[0], 65536, must be a port, such as 80."],
    ['{"challengePorts": [80]}', "challengePorts must be a list of texts"],
    ['{"accounts": ["-u"]}', "must be the name of an account."],
    ['{"fileOwners": ["a:b"]}', "must be the name of an account, or of a group after a colon"],
    ['{"keyModes": ["rw"]}', "must be an octal mode"],
  ])("%s is faulty, in words", (text, words) => expect(parsePolicy(text)).toEqual({ faults: [expect.stringContaining(words)] }));

  test("names all its faults at once", () =>
    expect(parsePolicy('{"storse": [], "files": "x", "directories": ["a", "/b", "c"]}')).toEqual({
      faults: [
        "storse is not a field of a policy. Did you mean stores?",
        'files must be a list of texts, such as ["…"].',
        "directories[0], a, must be an absolute path.",
        "directories[2], c, must be an absolute path.",
      ],
    }));
});

test("one thing more is permitted, once, and nothing else changes", () => {
  const policy: Policy = { files: ["/a"], privateKeys: true };
  expect(withGrant(policy, { field: "files", value: "/b" })).toEqual({ files: ["/a", "/b"], privateKeys: true });
  expect(withGrant(policy, { field: "reloads", value: ["a", "b"] })).toEqual({ ...policy, reloads: [["a", "b"]] });
  for (const same of [
    { field: "files", value: "/a" },
    { field: "privateKeys", value: true },
    { field: "stores", value: "nginx_tls" },
  ] as const)
    expect(withGrant(policy, same)).toBe(policy);
  expect(withGrant({ stores: [] }, { field: "stores", value: "nginx_tls" })).toEqual({ stores: ["nginx_tls"] });
  expect(withGrant({ reloads: [["a b"]] }, { field: "reloads", value: ["a", "b"] })).toEqual({ reloads: [["a b"], ["a", "b"]] });
});

test("one thing is permitted no more, and nothing else changes; of what confines, an empty list stays", () => {
  const policy: Policy = { files: ["/a", "/b"], reloads: [["a", "b"]], stores: ["nginx_tls"], anchors: ["any"], privateKeys: true };
  expect(withoutGrant(policy, { field: "files", value: "/b" })).toEqual({ ...policy, files: ["/a"] });
  expect(withoutGrant(policy, { field: "reloads", value: ["a", "b"] })).toEqual({
    files: ["/a", "/b"],
    stores: ["nginx_tls"],
    anchors: ["any"],
    privateKeys: true,
  });
  expect(withoutGrant(policy, { field: "privateKeys", value: true })).toEqual({
    files: ["/a", "/b"],
    reloads: [["a", "b"]],
    stores: ["nginx_tls"],
    anchors: ["any"],
  });
  expect(withoutGrant(policy, { field: "stores", value: "nginx_tls" })).toEqual({ ...policy, stores: [] });
  expect(withoutGrant(policy, { field: "anchors", value: "any" })).toEqual({ ...policy, anchors: [] });
  expect(withoutGrant({}, { field: "stores", value: "nginx_tls" })).toEqual({ stores: INSTALLABLE.filter((each) => each !== "nginx_tls") });
  const unknown: Grant[] = [
    { field: "files", value: "/c" },
    { field: "reloads", value: ["a b"] },
    { field: "stores", value: "java_cacerts" },
    { field: "accounts", value: "ada" },
  ];
  for (const same of unknown) expect(withoutGrant(policy, same)).toBe(policy);
  for (const same of [
    { field: "privateKeys", value: true },
    { field: "anchors", value: "any" },
  ] as const)
    expect(withoutGrant({}, same)).toEqual({});
});
