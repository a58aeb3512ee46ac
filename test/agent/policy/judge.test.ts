import { describe, expect, test } from "bun:test";
import { consentLine, judge, refusalMessage } from "#agent/policy/judge";
import type { Seen } from "#agent/policy/rules";
import { splitWords } from "#text/shell-words";

const FACTS = { ownNames: [] };
const USUAL = { command: "certitude agent", file: undefined };
const place: Seen = { kind: "directory", path: "/srv/tls", real: "/srv/tls", field: "trustStorePath", isOwn: false };
const shell: Seen = { kind: "reload", argv: ["sh", "-c", "echo 'a b' > /x; $(id)"] };

const messageOf = (demands: Seen[], calling = USUAL as { command: string; file: string | undefined }) => {
  const refusal = judge(demands, {}, FACTS);
  if (!refusal) throw new Error("it is permitted");
  return refusalMessage(refusal, calling);
};
/** The words that a shell makes of the command at the end of a message. */
const pasted = (message: string) => splitWords(message.slice(message.indexOf("permits it by: ") + 15));

describe("a refusal", () => {
  test("is none where all is permitted", () => expect(judge([place, shell], { directories: ["/srv/tls"], reloads: [shell.argv] }, FACTS)).toBeUndefined());

  test("says everything at once, and ends with the command that permits it, quoted for a shell", () => {
    const message = messageOf([place, place, shell, { kind: "private key" }]);
    expect(message).toBe(
      "The policy of this host does not permit writing into /srv/tls (config.trustStorePath); " +
        `running sh -c 'echo '\\''a b'\\'' > /x; $(id)' (config.reloadCommand); its private key. An administrator of the host permits it by: ` +
        `certitude agent policy allow --directory /srv/tls --reload 'sh -c '\\''echo '\\''\\'\\'''\\''a b'\\''\\'\\'''\\'' > /x; $(id)'\\''' --private-keys`,
    );
    expect(pasted(message)?.slice(3)).toEqual(["allow", "--directory", "/srv/tls", "--reload", `sh -c 'echo '\\''a b'\\'' > /x; $(id)'`, "--private-keys"]);
    expect(splitWords(pasted(message)?.[7] ?? "")).toEqual(shell.argv);
  });

  test("names the policy file where it is not the usual one, and the agent's own executable where that runs", () =>
    expect(consentLine([{ field: "privateKeys", value: true }], { command: "certitude-agent", file: "/srv/my policy.json" })).toBe(
      "certitude-agent policy allow --policy '/srv/my policy.json' --private-keys",
    ));

  test("names a path by where it leads", () => {
    const message = messageOf([{ ...place, real: "/etc/cron.d" } as Seen]);
    expect(message).toContain("writing into /srv/tls, which leads to /etc/cron.d (config.trustStorePath)");
    expect(pasted(message)?.slice(4)).toEqual(["--directory", "/etc/cron.d"]);
  });

  test.each<[string, Seen, string[]]>([
    ["a name that is no certificate's", { ...place, kind: "named file", real: "/srv/tls/nginx.conf" } as Seen, ["--file", "/srv/tls/nginx.conf"]],
    ["settings", { ...place, kind: "named file", real: "/etc/environment" } as Seen, ["--file", "/etc/environment"]],
    ["a flag", { kind: "node flag", flag: "--import=data:,x" }, ["--node-flag", "--import=data:,x"]],
    ["a password", { kind: "password", reference: "file:/etc/a b" }, ["--password", "file:/etc/a b"]],
    ["an endpoint", { kind: "endpoint", endpoint: "[2001:db8::1]:443" }, ["--endpoint", "[2001:db8::1]:443"]],
    ["an account", { kind: "account", name: "ada" }, ["--account", "ada"]],
    ["a mode", { kind: "key mode", mode: "0666", holdsKey: true }, ["--key-mode", "0666"]],
    ["Python", { ...place, kind: "python", real: "/opt/venv" } as Seen, ["--python-venv", "/opt/venv"]],
    ["a word that looks like a pattern", { kind: "reload", argv: ["systemctl", "restart", "*"] }, ["--reload", "systemctl restart '*'"]],
  ])("asks for no more than %s", (_what, demand, options) => expect(pasted(messageOf([demand]))?.slice(4)).toEqual(options));

  test.each<[string, Seen]>([
    ["/proc", { ...place, path: "/proc/self/root/etc" } as Seen],
    ["a line break", { kind: "reload", argv: ["a\nb"] }],
    ["an escape sequence", { kind: "reload", argv: ["a\u001b[2J"] }],
    ["letters that change their order", { kind: "reload", argv: ["a\u202eb"] }],
    ["an empty program", { kind: "reload", argv: ["", "x"] }],
    ["a flag that is none", { kind: "node flag", flag: "x" }],
    ["a pattern of hosts", { kind: "endpoint", endpoint: "*.example.org:443" }],
    ["an account that is an option", { kind: "account", name: "-x" }],
  ])("offers no command for %s, not even beside what could be permitted", (_what, demand) => {
    const message = messageOf([place, demand]);
    expect(message).toEndWith("No policy can: correct the assignment.");
    expect(message).not.toContain("policy allow");
    expect(message).not.toMatch(/\p{C}/u);
  });

  test("is never cut short within its command: a long one is left to the agent's log", () => {
    const long = (length: number): Seen => ({ kind: "reload", argv: ["run", "x".repeat(length)] });
    expect(messageOf([long(300)])).toContain("running run xxx");
    const brief = messageOf([long(600)]);
    expect(brief).toStartWith("The policy of this host does not permit this assignment. An administrator");
    expect(splitWords(pasted(brief)?.at(-1) ?? "")).toEqual(["run", "x".repeat(600)]);
    for (const length of [950, 1_000, 10_000]) {
      const message = messageOf([long(length)]);
      expect(message).toContain("is too long for a report: the agent's log on the host has it.");
      expect(message).not.toContain("xxx");
    }
    expect(messageOf([{ kind: "account", name: `-${"x".repeat(2_000)}` }]).length).toBe(1_000);
  });
});
