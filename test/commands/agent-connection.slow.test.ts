import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "#log/log";
import { followConnection } from "../../src/commands/agent/connection";
import { newAuthority } from "../support/pki/authority";
import { certificate } from "../support/pki/certificates";
import { run } from "../support/server/program";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-connection-"));
const write = (name: string, content: string, mode = 0o600) => {
  writeFileSync(join(directory, name), content, { mode });
  chmodSync(join(directory, name), mode);
  return join(directory, name);
};
const tokenOf = (letter: string) => `cag_${letter.repeat(43)}`;
let authority: Awaited<ReturnType<typeof newAuthority>>;
let other: typeof authority;
let own: { caFile: string; cert: string; key: string; pem: string; privateKeyPem: string };
beforeAll(async () => {
  [authority, other] = await Promise.all([newAuthority(), newAuthority()]);
  const { pem, chain, privateKeyPem } = await authority.issueServer("localhost");
  const whole = pem + chain.join("");
  own = { caFile: write("ca.pem", authority.root.pem, 0o644), cert: write("cert.pem", whole), key: write("key.pem", privateKeyPem), pem: whole, privateKeyPem };
});
afterAll(() => {
  authority.remove();
  other.remove();
  rmSync(directory, { recursive: true });
});

test("agent run and agent install explain how a server is reached in the same words", async () => {
  const explain = async (command: string) => {
    const { out } = await run(["agent", command, "--help"]);
    return out.slice(out.indexOf("  --server "), out.indexOf("  --policy "));
  };
  const words = await explain("run");
  for (const option of ["--server", "--token-file", "--ca-file", "--client-cert", "--client-key", "--state-dir", "--interval"])
    expect(words).toContain(`  ${option} <`);
  expect(await explain("install")).toBe(words);
});

describe("the files of a connection", () => {
  test("a changed token is taken up; one that is wrong is logged, and the former goes on", () => {
    const said: { msg: string; reason?: string }[] = [];
    const log = createLog("info", { write: (line) => void said.push(JSON.parse(line)) });
    const tokenFile = write("token", tokenOf("a"));
    const connection = followConnection({ tokenFile, caFile: own.caFile }, {}, log);
    expect(connection()).toEqual({ token: tokenOf("a"), hasOwnAuthority: true, tls: { ca: authority.root.pem.trim() } });
    write("token", `${tokenOf("b")}\n`);
    expect(connection().token).toBe(tokenOf("b"));
    write("token", "nonsense");
    expect([connection().token, connection().token]).toEqual([tokenOf("b"), tokenOf("b")]);
    rmSync(tokenFile);
    expect(connection().token).toBe(tokenOf("b"));
    expect(said.map(({ msg, reason = "" }) => `${msg}${reason && `: ${reason}`}`)).toEqual([
      "took up the changed token or certificates",
      `the changed token or certificates cannot be used; the former go on: ${tokenFile} does not hold an agent's token; it begins with cag_.`,
      expect.stringContaining("the former go on: --token-file cannot be read: ENOENT"),
    ]);
  });

  test.each([
    ["--ca-file", () => ["--ca-file", write("empty.pem", "nothing")], "holds no certificate in PEM (-----BEGIN CERTIFICATE-----)."],
    [
      "--ca-file",
      () => ["--ca-file", write("torn.pem", `${authority.root.pem}${authority.root.pem.replace(/M[A-Za-z]{4}/, "AAAAA")}`)],
      "its certificate 2 of 2 is damaged.",
    ],
    ["--client-cert", () => ["--client-cert", own.cert], "--client-cert and --client-key go together."],
    ["--client-key", () => ["--client-cert", own.cert, "--client-key", own.cert], "holds no private key in PEM without a password."],
    ["--client-key", () => ["--client-cert", own.cert, "--client-key", write("open.pem", own.privateKeyPem, 0o644)], "Others may read the key in"],
  ])("%s that is wrong is wrong usage: exit 2", async (_, options, words) => {
    const { code, err } = await run(["agent", "--once", "--server", "https://localhost", "--token-file", write("token", tokenOf("a")), ...options()]);
    expect([code, err]).toEqual([2, expect.stringContaining(words)]);
  });
});

/** A server that takes no token, so that who reaches it is told so; behind TLS and, where it asks for one, a client's certificate. */
function startServer(more: { ca?: string; requestCert?: boolean; rejectUnauthorized?: boolean } = {}) {
  return Bun.serve({ port: 0, tls: { cert: own.pem, key: own.privateKeyPem, ...more }, fetch: () => new Response(null, { status: 401 }) });
}

/** A proxy that opens tunnels, or refuses to. */
async function startTunnels(refusal?: string) {
  const asked: string[] = [];
  const server = createServer((near) =>
    near.once("data", (data) => {
      const [, host = "", port] = /^CONNECT (.+):(\d+) /.exec(String(data)) ?? [];
      asked.push(`${host}:${port}`);
      if (refusal) return near.end(`HTTP/1.1 ${refusal}\r\n\r\n`);
      const far = connect(Number(port), host, () => near.write("HTTP/1.1 200 OK\r\n\r\n"));
      far.on("error", () => near.destroy()).pipe(near);
      near.on("error", () => far.destroy()).pipe(far);
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { asked, address: `127.0.0.1:${(server.address() as { port: number }).port}`, stop: () => server.close() };
}

describe("certitude agent says why it cannot reach the server, and what to do", () => {
  const REACHED = "does not accept the agent's token (401).";
  const free = { PATH: Bun.env.PATH ?? "" };

  async function reach(server: string, options: string[] = [], environment: Record<string, string> = {}) {
    const place = ["--once", "--state-dir", join(directory, `state-${crypto.randomUUID()}`)];
    const { code, err } = await run(["agent", ...place, "--server", server, "--token-file", write(`token-${crypto.randomUUID()}`, tokenOf("a")), ...options], {
      ...free,
      ...environment,
    });
    expect(code).toBe(1);
    return err;
  }

  test("an authority that this host does not trust, by the system's store or --ca-file", async () => {
    const server = startServer();
    const url = `https://localhost:${server.port}`;
    expect(await reach(url)).toContain(
      "this host trusts no authority that signed its certificate. Give that authority's PEM by --ca-file, or add it to the system's store",
    );
    expect(await reach(url, ["--ca-file", write("other.pem", other.root.pem)])).toContain("the authority in --ca-file did not sign its certificate.");
    expect(await reach(url, ["--ca-file", own.caFile])).toContain(REACHED);
    expect(await reach(url, [], { SSL_CERT_FILE: own.caFile })).toContain(REACHED);
    await server.stop(true);
  });

  test("a certificate for other names, a port without TLS, none at all, a name that nobody knows", async () => {
    const server = startServer();
    const plain = Bun.serve({ port: 0, fetch: () => new Response() });
    const ca = ["--ca-file", own.caFile];
    expect(await reach(`https://127.0.0.2:${server.port}`, ca)).toContain("its certificate is for other names than 127.0.0.2. Correct --server");
    expect(await reach(`https://localhost:${plain.port}`)).toContain("Either it does not speak TLS on this port, or it wants a client certificate");
    expect(await reach("https://localhost:1")).toContain("nothing listens there. Is the server up, and the port right?");
    expect(await reach("https://certitude.invalid")).toContain("the name certitude.invalid is not known here. Check --server and the DNS");
    await Promise.all([server, plain].map((each) => each.stop(true)));
  });

  test.each([
    ["has expired", { from: -10, days: -1 }, /its certificate has expired. Renew it or, if it is not 20\d\d-/],
    ["is not valid yet", { from: 5 }, /its certificate is not valid yet. If it is not 20\d\d-.*set this host's clock/],
  ])("a certificate that %s", async (_, when, words) => {
    const root = certificate({ commonName: "Scratch root", isCa: true });
    const { pem, privateKey } = certificate({ commonName: "localhost", dns: ["localhost"], issuer: root, ...when });
    const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const server = Bun.serve({ port: 0, tls: { cert: pem, key }, fetch: () => new Response() });
    expect(await reach(`https://localhost:${server.port}`, ["--ca-file", write("root.pem", root.pem)])).toMatch(words);
    await server.stop(true);
  });

  test("a server that asks for the client's certificate", async () => {
    const server = startServer({ ca: authority.root.pem, requestCert: true, rejectUnauthorized: true });
    const url = `https://localhost:${server.port}`;
    const ca = ["--ca-file", own.caFile];
    expect(await reach(url, ca)).toContain("client certificate (--client-cert, --client-key)");
    expect(await reach(url, [...ca, "--client-cert", own.cert, "--client-key", own.key])).toContain(REACHED);
    await server.stop(true);
  });

  test("a proxy: gone, refusing, passing; NO_PROXY goes around it, and its password is never shown", async () => {
    const server = startServer();
    const url = `https://localhost:${server.port}`;
    const ca = ["--ca-file", own.caFile];
    const [open, closed] = await Promise.all([startTunnels(), startTunnels("407 Proxy Authentication Required")]);
    expect(await reach(url, ca, { HTTPS_PROXY: `http://${open.address}` })).toContain(REACHED);
    expect(open.asked).toEqual([`localhost:${server.port}`]);
    expect(await reach(url, ca, { HTTPS_PROXY: `http://${open.address}`, NO_PROXY: "example.org,localhost" })).toContain(REACHED);
    expect(open.asked.length).toBe(1);
    const refused = await reach(url, ca, { HTTPS_PROXY: `http://ada:secret@${closed.address}` });
    expect(refused).toContain(`the proxy ${closed.address} lets nothing through`);
    expect(refused).toContain("Correct HTTPS_PROXY, or name localhost in NO_PROXY");
    expect(refused).not.toContain("secret");
    expect(await reach(url, ca, { HTTPS_PROXY: "http://127.0.0.1:1" })).toContain("nothing listens at the proxy 127.0.0.1:1. Correct HTTPS_PROXY");
    for (const each of [open, closed]) each.stop();
    await server.stop(true);
  });
});
