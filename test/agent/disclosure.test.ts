import { describe, expect, test } from "bun:test";
import { disclose } from "#agent/disclosure";
import { argvOf } from "#agent/host/arguments";
import { foreign, sentenceOf, unmarked } from "#agent/host/foreign";
import { thisHost } from "#agent/host/host";
import { runProgram } from "#agent/host/program";

const asking = { host: thisHost({ HOME: "/home/ada" }), policy: { calling: { command: "certitude agent", file: undefined } } };
const item = {
  id: "9f3c",
  trustStoreType: "pem_files",
  config: {
    trustStorePath: "/srv/tls",
    certFileName: "site.crt",
    alias: "corp",
    envFilePath: "/srv/it's $HOME/env",
    storePasswordRef: "file:/etc/pin",
    dbHome: "~/.pki",
  },
};
const REST = " The rest is in the agent's log on the host.";
const disclosed = (message: string) => disclose(message, [item], asking);

describe("a report", () => {
  test.each([
    "/srv/tls/site.crt is missing",
    "/srv/tls/corp.pem cannot be written: its directory does not exist. Create it first.",
    "/srv is not a directory",
    "/srv/it's $HOME/env sets nothing",
    "/srv/it's $HOME/env.ssl_cert_file_env.pem lacks the certificate",
    "/etc/pin, which config.storePasswordRef names, begins with an empty line",
    "/etc/ssl/certs/ca-certificates.crt lacks it",
    "the mode is 0644 and/or 3/4 of it",
    "~/.pki is missing",
  ])("shows what the server has named, and what every host has: %s", (message) => expect(disclosed(message)).toBe(message));

  test.each([
    ["/srv/tls/other.key is there", "(a path on this host) is there"],
    ["/srv/tls-secret/site.crt is there", "(a path on this host) is there"],
    ["it says \"/root/x\", '/root/y' and (/root/z).", "it says \"(a path on this host)\", '(a path on this host)' and ((a path on this host))."],
    ["ENV=/opt/java:/opt/other", "ENV=(a path on this host):(a path on this host)"],
    [`it answers ${foreign("220 secret /srv/tls")}.`, "it answers …."],
    [`a › b ${foreign("x ‹y› z")} c`, "a › b … c"],
    ["it ends with ‹secret and no end", "it ends with …"],
  ])("leaves out what is this host's: %s", (message, reported) => expect(disclosed(message)).toBe(reported + REST));

  test("writes of the agent's home as of no account's", () => expect(disclosed("/home/ada/.pki is missing")).toBe(`~/.pki is missing${REST}`));

  test("ends with the command of a refusal only where that names nothing else", () => {
    const refusal = (path: string) =>
      `It does not permit writing into /srv/tls. An administrator of the host permits it by: certitude agent policy allow --directory ${path}`;
    expect(disclosed(refusal("/srv/tls"))).toBe(refusal("/srv/tls"));
    expect(disclosed(refusal("/opt/real"))).toBe("It does not permit writing into /srv/tls. The command that permits it is in the agent's log on the host.");
  });
});

test("an error is a sentence of the agent's own, or the code of the system with its words marked", async () => {
  expect(sentenceOf(new Error("/srv is no directory."))).toBe("/srv is no directory.");
  expect(sentenceOf(Object.assign(new Error("EIO: i/o error, open '/x'"), { code: "EIO" }))).toBe(
    "Something failed on this host (EIO): ‹EIO: i/o error, open '/x'›.",
  );
  expect(sentenceOf(Object.assign(new Error("bad"), { code: "not a code" }))).toBe("Something failed on this host (Error): ‹bad›.");
  expect(sentenceOf(new SyntaxError("Unexpected secret"))).toBe("Something failed on this host (SyntaxError): ‹Unexpected secret›.");
  const failure = await runProgram(asking.host, argvOf("sh", "-c", "echo ‹secret› >&2; exit 1")).catch((error: Error) => error);
  expect(sentenceOf(failure as Error)).toBe("sh ended with exit code 1: ‹'secret'›.");
  expect(unmarked(sentenceOf(failure as Error))).toBe("sh ended with exit code 1: 'secret'.");
});
