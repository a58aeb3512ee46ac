import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { desired, desiredServer } from "../support/agent/agent-host";
import { newOwnedHost } from "../support/agent/owned-host";
import { type OwnedServer, startOwnedServer } from "../support/agent/owned-server";
import { newAuthority } from "../support/pki/authority";
import { freePort } from "../support/pki/tls-servers";

setDefaultTimeout(300_000);

type Host = Awaited<ReturnType<typeof newOwnedHost>>;

let authority: Awaited<ReturnType<typeof newAuthority>>;
let server: OwnedServer;
let host: Host;
beforeAll(async () => {
  authority = await newAuthority();
});
beforeEach(async () => {
  server = startOwnedServer();
  host = await newOwnedHost(server);
});
afterAll(() => authority.remove());

const SECRET = "OpenSSH_9.2 secret-of-this-host";
const LOG = "The rest is in the agent's log on the host.";
const anchor = (trustStoreType: Parameters<typeof desired>[1]["trustStoreType"], config: object) => desired(authority.root, { trustStoreType, config });
/** One pass; what the server is told of the assignment, and what the host's own log says. */
async function report(item: ReturnType<typeof desired>) {
  server.send({ items: [item] });
  const { stdout } = await host.pass();
  return { reported: server.lastReport(item.id), log: stdout };
}

async function listen(greeting: string) {
  const listener = createServer((socket) => {
    socket.on("error", () => {}).on("data", () => socket.end(`-ERR ${SECRET}\r\n`));
    socket.write(greeting);
  });
  await new Promise<void>((listening) => listener.listen(0, "127.0.0.1", listening));
  return { port: (listener.address() as AddressInfo).port, stop: () => listener.close() };
}

describe("a verifyEndpoint on loopback", () => {
  const store = (verifyEndpoint: string, verifyStartTls: string) =>
    anchor("pem_files", { trustStorePath: host.pathOf("certs"), caFileName: "ca.pem", verifyEndpoint, verifyStartTls });

  test("reports to the server neither what a service there says, nor whether there is one; the host's log says both", async () => {
    host.setPolicy({ directories: [host.pathOf("certs")] });
    const { port, stop } = await listen(`+OK ${SECRET}\r\n`);
    const closed = await freePort();
    const messages = [];
    for (const [at, verifyStartTls, words] of [
      [port, "pop3", `does not begin TLS: it answers \\"-ERR ${SECRET}`],
      [port, "imap", "does not speak as a server of IMAP"],
      [port, "none", "does not speak TLS"],
      [closed, "smtp", "ECONNREFUSED"],
      [closed, "none", "nothing listens there"],
    ] as const) {
      const { reported, log } = await report(store(`tls://127.0.0.1:${at}`, verifyStartTls));
      expect(log).toContain(words);
      expect(reported?.state).toBe("failed");
      messages.push(reported?.message?.replaceAll(`${at}`, "PORT"));
    }
    expect(new Set(messages)).toEqual(
      new Set([
        `127.0.0.1:PORT was not verified (ENDPOINT_NOT_VERIFIED): … Reports say why where the policy of this host names it: --endpoint 127.0.0.1:PORT Rolled back: the store is as it was. ${LOG}`,
      ]),
    );
    stop();
    host.remove();
  });

  test("that the policy names is reported by a code and a sentence, and never by the words of a service", async () => {
    const { port, stop } = await listen(`+OK ${SECRET}\r\n`);
    const closed = await freePort();
    host.setPolicy({ directories: [host.pathOf("certs")], endpoints: [port, closed].map((each) => `127.0.0.1:${each}`) });
    for (const [at, verifyStartTls, words] of [
      [closed, "none", "nothing listens there (ECONNREFUSED): …"],
      [port, "imap", "it does not speak as a server of IMAP does"],
      [port, "pop3", "this POP3 server does not begin TLS: it answers …"],
      [port, "none", "it does not speak TLS"],
    ] as const) {
      const { reported } = await report(store(`tls://127.0.0.1:${at}`, verifyStartTls));
      expect(reported?.message).toContain(words);
      expect(reported?.message).not.toContain("secret");
    }
    stop();
    host.remove();
  });
});

describe("what is reported of this host: never", () => {
  test("where a link leads, in a refusal, nor the command that names it", async () => {
    mkdirSync(host.pathOf("hidden place/inner"), { recursive: true });
    symlinkSync(host.pathOf("hidden place/inner"), host.pathOf("link"));
    const { reported, log } = await report(anchor("openssl_ca_dir", { trustStorePath: host.pathOf("link"), alias: "corp" }));
    expect(reported).toMatchObject({
      state: "refused",
      message: `The policy of this host does not permit writing into ${host.pathOf("link")}, which leads elsewhere (config.trustStorePath). The command that permits it is in the agent's log on the host.`,
    });
    expect(log).toContain(`--directory '${host.pathOf("hidden place/inner")}'`);
    host.remove();
  });

  test("whether a refused path is there, may be read, or is a link that leads nowhere", async () => {
    mkdirSync(host.pathOf("there"));
    symlinkSync(host.pathOf("nowhere"), host.pathOf("dangling"));
    symlinkSync(host.pathOf("circle"), host.pathOf("circle"));
    const reported = [];
    for (const name of ["there", "missing", "dangling", "circle"]) {
      const { message } = (await report(anchor("openssl_ca_dir", { trustStorePath: host.pathOf(name), alias: "corp" }))).reported ?? {};
      reported.push(message?.replaceAll(host.pathOf(name), "PLACE"));
    }
    expect(new Set(reported).size).toBe(1);
    expect(reported[0]).toContain("certitude-agent policy allow");
    host.remove();
  });

  test("whether a refused webroot is there, to a challenge", async () => {
    mkdirSync(host.pathOf("there"));
    const asked = ["there", "missing"].map((name) => ({
      id: crypto.randomUUID(),
      requestId: crypto.randomUUID(),
      name: "www.example.org",
      token: "x".repeat(43),
      thumbprint: "y".repeat(43),
      isShown: false,
      proof: { type: "http-01", webroot: host.pathOf(name) },
    }));
    server.send({ challenges: asked });
    await host.pass();
    const reported = asked.map(({ requestId, proof }) => {
      const { body = "" } = server.requests.find(({ path }) => path.includes(requestId)) ?? {};
      return JSON.parse(body).challenges[0].message.replaceAll(proof.webroot, "PLACE");
    });
    expect(reported[0]).toStartWith("The policy of this host does not permit answering a CA's challenges by files in PLACE. An administrator");
    expect(reported[1]).toBe(reported[0]);
    host.remove();
  });

  test("whether an account is there, and where its home is", async () => {
    const reported = [];
    for (const dbUser of ["daemon", "no-such-account"]) {
      const { message } = (await report(anchor("nss_shared_db", { alias: "corp", dbUser, trustStorePath: "~/.pki/nssdb" }))).reported ?? {};
      reported.push(message?.replaceAll(dbUser, "ACCOUNT"));
    }
    expect(reported[0]).toEndWith(`certitude-agent policy allow --policy ${host.pathOf("policy.json")} --account ACCOUNT`);
    expect(reported[1]).toBe(reported[0] ?? "");
    host.remove();
  });

  test("the target of a link in the place of a file, nor what a setting of others says", async () => {
    host.setPolicy({ directories: [host.directory], files: [host.pathOf("environment")] });
    mkdirSync(host.pathOf("certs"));
    symlinkSync("/root/secret-target", host.pathOf("certs/corp.pem"));
    const link = await report(anchor("openssl_ca_dir", { trustStorePath: host.pathOf("certs"), alias: "corp" }));
    expect(link.reported?.message).toContain(`${host.pathOf("certs/corp.pem")} is a symbolic link to …. Name the file itself`);
    expect(link.log).toContain("/root/secret-target");
    writeFileSync(host.pathOf("environment"), "SSL_CERT_FILE=secret-value\n");
    const setting = await report(anchor("ssl_cert_file_env", { envFilePath: host.pathOf("environment") }));
    expect(setting.reported?.message).toContain(`${host.pathOf("environment")} sets SSL_CERT_FILE to …, and not by this agent.`);
    expect(setting.log).toContain("secret-value");
    host.remove();
  });

  test("the words of a tool, and of a file that it or the agent reads", async () => {
    const script = host.pathOf("reload");
    writeFileSync(script, `#!/bin/sh\necho "secret of /etc/shadow" >&2\nexit 3\n`);
    chmodSync(script, 0o755);
    writeFileSync(host.pathOf("policies.json"), "secretword");
    host.setPolicy({ directories: [host.directory], files: [host.pathOf("policies.json")], reloads: [[script]] });
    const tool = await report(anchor("openssl_ca_dir", { trustStorePath: host.pathOf("certs"), alias: "corp", reloadCommand: [script] }));
    expect(tool.reported?.message).toBe(`${script} ended with exit code 3: …. Rolled back: the store is as it was. ${LOG}`);
    expect(tool.log).toContain("secret of /etc/shadow");
    const file = await report(anchor("firefox_policy", { trustStorePath: host.pathOf("policies.json"), alias: "corp" }));
    expect(file.reported?.message).toContain(`${host.pathOf("policies.json")} is not JSON`);
    expect(file.reported?.message).not.toContain("secretword");
    host.remove();
  });

  test("what is wrong with the policy, and where the state directory is", async () => {
    writeFileSync(host.pathOf("policy.json"), '{"secretField": 1}', { mode: 0o600 });
    const item = anchor("openssl_ca_dir", { trustStorePath: "/srv/certs", alias: "corp" });
    const { reported, log } = await report(item);
    expect(reported?.message).toBe(`The policy of this host cannot be used, so that it permits nothing: … ${LOG}`);
    expect(log).toContain("secretField is not a field of a policy");
    writeFileSync(host.pathOf(`state/assignments/${item.id}.json`), "damaged");
    host.setPolicy({ directories: ["/"] });
    const { reported: damaged } = await report({ ...item, version: 2, config: { ...item.config, trustStorePath: host.pathOf("certs") } });
    expect(damaged?.message).toContain("The agent's record … was damaged");
    expect(damaged?.message).not.toContain("state");
    host.remove();
  });
});

test("status shows no character that a terminal obeys, or that turns text around", async () => {
  const hostile = "corp\u001b[2J\u202egpj";
  server.send({ items: [{ ...anchor("openssl_ca_dir", { trustStorePath: "/srv/certs", alias: "corp" }), commonName: hostile }] });
  await host.pass();
  for (const json of [[], ["--json"]]) {
    const { stdout, stderr } = await host.agent(["status", "--state-dir", host.pathOf("state"), ...json]);
    expect(stdout).toContain("gpj");
    expect((stdout + stderr).replaceAll("\n", "")).not.toMatch(/\p{C}/u);
  }
  host.remove();
});

test("what git of the agent's account takes in place of the agent's own settings stays on the host", async () => {
  host.setPolicy({ privateKeys: true });
  writeFileSync(host.pathOf("home/more"), "[http]\n\tsslKey = pkcs11:token=x?pin-value=secret-of-this-host\n");
  writeFileSync(host.pathOf("home/.gitconfig"), `[certitude]\n\tnote = kept\n[http]\n\tproxy =\n[include]\n\tpath = ${host.pathOf("home/more")}\n`);
  const client = await authority.issueServer("client.test");
  const { reported, log } = await report(
    desiredServer(client, { trustStoreType: "git_http_sslcainfo", materialType: "client_certificate", config: { alias: "corp" } }),
  );
  expect(reported).toMatchObject({ state: "failed", message: expect.stringContaining("git takes … as http.sslKey, not ") });
  expect(log).toContain("pin-value=secret-of-this-host");
  host.remove();
});
