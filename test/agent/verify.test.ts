import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { thisHost } from "#agent/host/host";
import type { Material, Target } from "#agent/store";
import { verifyEndpoint } from "#agent/verify";
import { type Issued, newAuthority } from "../support/pki/authority";
import { freePort } from "../support/pki/tls-servers";

setDefaultTimeout(300_000);

let authority: Awaited<ReturnType<typeof newAuthority>>;
let other: Awaited<ReturnType<typeof newAuthority>>;
let leaf: Issued;
let next: Issued;
beforeAll(async () => {
  [authority, other] = await Promise.all([newAuthority(), newAuthority()]);
  [leaf, next] = await Promise.all([authority.issueServer("good.test"), authority.issueServer("next.test")]);
});
afterAll(() => {
  authority.remove();
  other.remove();
});

const host = thisHost({});
/** Has time for what answers, however busy the machine is, and tries once. */
const patient = { ...host, patience: { tool: 60_000, connection: 60_000, reload: 0 } };
/** For what never answers. */
const impatient = { ...host, patience: { tool: 60_000, connection: 100, reload: 0 } };
const target = (
  config: Target["config"],
  materialType: Target["materialType"] = "trust_anchor",
  storeType: Target["storeType"] = "openssl_ca_dir",
): Target => ({
  assignmentId: crypto.randomUUID(),
  storeType,
  materialType,
  alias: "corp",
  config,
});
const materialOf = ({ pem, fingerprint, chain }: { pem: string; fingerprint: string; chain: string[] }): Material => ({
  certificate: pem,
  fingerprint,
  chain,
  privateKey: null,
});

/** What verifying says, or undefined where it proves what it should. */
const faultAt = (place: Target, material: Material, found = [material.certificate], by = host) =>
  verifyEndpoint(place, material, found, by).then(
    () => undefined,
    ({ message }: Error) => message,
  );

const ends: (() => void)[] = [];
async function listen(server: Server, address = "127.0.0.1") {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  ends.push(() => {
    for (const each of sockets) each.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}
afterAll(() => {
  for (const end of ends) end();
});

/** A TLS server that presents what `issued` is at the time, with its intermediates unless it is told not to. */
function serve(issued: () => Issued, { address = "127.0.0.1", isAlone = false } = {}) {
  const server = createTlsServer({
    key: issued().privateKeyPem,
    cert: issued().pem + (isAlone ? "" : issued().chain.slice(0, -1).join("")),
  });
  server.on("tlsClientError", () => {});
  return listen(server, address);
}
const talk = (speak: (socket: Socket) => void) => listen(createServer(speak));

describe.concurrent("verifyEndpoint of an anchor", () => {
  const anchor = () => materialOf(authority.root);

  test("nothing to prove without an endpoint, nor for a client's certificate", async () => {
    expect(await faultAt(target({}), anchor())).toBeUndefined();
    expect(await faultAt(target({ verifyEndpoint: "https://127.0.0.1:1" }, "client_certificate"), anchor())).toBeUndefined();
  });

  test("a server of the authority, by its address, by the name that it is to have, and with https and tls", async () => {
    const port = await serve(() => leaf);
    for (const [endpoint, verifyServerName] of [
      [`https://127.0.0.1:${port}`, undefined],
      [`tls://127.0.0.1:${port}`, undefined],
      [`TLS://127.0.0.1:${port}/path`, "good.test"],
      [`tls://localhost:${port}`, "127.0.0.1"],
    ])
      expect([endpoint, await faultAt(target({ verifyEndpoint: endpoint ?? "", ...(verifyServerName && { verifyServerName }) }), anchor())]).toEqual([
        endpoint,
        undefined,
      ]);
  });

  test("refused in words: another chain, another name, an address that the certificate does not name", async () => {
    const port = await serve(() => leaf);
    const at = (config: Target["config"]) => target({ verifyEndpoint: `tls://127.0.0.1:${port}`, ...config });
    expect(await faultAt(at({}), materialOf(other.root))).toMatch(/^127\.0\.0\.1:\d+ is not trusted by what is in the store: .+\.$/);
    expect(await faultAt(at({ verifyServerName: "wrong.test" }), anchor())).toMatch(/is not trusted by what is in the store: .*wrong\.test/);
    expect(await faultAt(target({ verifyEndpoint: `tls://localhost:${port}` }), anchor())).toMatch(/localhost/);
    expect(await faultAt(at({ verifyServerName: "127.0.0.2" }), anchor())).toMatch(/127\.0\.0\.2/);
    expect(await faultAt(at({}), anchor(), [])).toMatch(/is not trusted by what is in the store/);
  });

  test("an IPv6 literal, by its name and by its address", async () => {
    const port = await serve(() => leaf, { address: "::1" });
    const verifyEndpoint = `https://[::1]:${port}`;
    expect(await faultAt(target({ verifyEndpoint, verifyServerName: "good.test" }), anchor())).toBeUndefined();
    expect(await faultAt(target({ verifyEndpoint }), anchor())).toMatch(/^\[::1\]:\d+ is not trusted.*: IP: ::1 is not/);
  });

  test("an intermediate, whose root is known from its chain; a server that sends it not, too", async () => {
    const intermediate = materialOf(authority.intermediate);
    for (const isAlone of [false, true]) {
      const verifyEndpoint = `tls://127.0.0.1:${await serve(() => leaf, { isAlone })}`;
      expect(await faultAt(target({ verifyEndpoint }, "intermediate_ca"), intermediate)).toBeUndefined();
      expect(await faultAt(target({ verifyEndpoint }, "intermediate_ca"), materialOf(other.intermediate))).toMatch(/is not trusted/);
    }
  });

  test("bounded, and in words: nobody listens, no such host, one that hangs, closes, drips or speaks otherwise", async () => {
    const drip = (socket: Socket) => {
      const timer = setInterval(() => socket.write("\x16"), 50);
      socket.on("close", () => clearInterval(timer));
    };
    const cases = [
      [`tls://127.0.0.1:${await freePort()}`, /ECONNREFUSED/, patient],
      ["tls://nowhere.invalid:443", /getaddrinfo|it did not answer/, impatient],
      [`tls://127.0.0.1:${await talk(() => {})}`, /it did not answer within 0.1 s/, impatient],
      [`tls://127.0.0.1:${await talk((socket) => socket.destroy())}`, /closed the connection|disconnected before/, patient],
      [`tls://127.0.0.1:${await talk(drip)}`, /it does not speak TLS/, patient],
      [`tls://127.0.0.1:${await talk((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))}`, /it does not speak TLS/, patient],
    ] as const;
    const faults = await Promise.all(cases.map(([endpoint, , by]) => faultAt(target({ verifyEndpoint: endpoint }), anchor(), undefined, by)));
    for (const [index, [, words]] of cases.entries())
      expect(faults[index]).toMatch(new RegExp(`^[^ ]+:\\d+ cannot be verified: .*(${words.source})`, words.flags));
  });
});

describe.concurrent("verifyEndpoint of a server's certificate", () => {
  const server = (verifyEndpoint: string, storeType: Target["storeType"] = "nginx_tls") => target({ verifyEndpoint }, "server_certificate", storeType);

  test("it presents this leaf, by any signer, or another", async () => {
    const port = await serve(() => leaf);
    expect(await faultAt(server(`tls://127.0.0.1:${port}`), materialOf(leaf))).toBeUndefined();
    expect(await faultAt(server(`tls://127.0.0.1:${port}`), materialOf(next), undefined, patient)).toBe(
      `127.0.0.1:${port} presents the certificate ‹${leaf.fingerprint}›, not ${next.fingerprint}.`,
    );
  });

  test("it is waited for while it still starts", async () => {
    const port = await freePort();
    const late = Bun.sleep(300).then(() => {
      const starting = createTlsServer({ key: next.privateKeyPem, cert: next.pem }).listen(port, "127.0.0.1");
      ends.push(() => starting.close());
    });
    expect(await faultAt(server(`tls://127.0.0.1:${port}`), materialOf(next))).toBeUndefined();
    await late;
  });

  test("bounded, and in words: it hangs, closes or is not there", async () => {
    let asked = 0;
    const closing = (socket: Socket) => {
      asked++;
      socket.destroy();
    };
    const cases = [
      [await freePort(), patient],
      [await talk(() => {}), impatient],
      [await talk(closing), patient],
    ] as const;
    const faults = await Promise.all(cases.map(([port, by]) => faultAt(server(`tls://127.0.0.1:${port}`), materialOf(leaf), undefined, by)));
    for (const [index, [port]] of cases.entries()) expect(faults[index]).toMatch(new RegExp(`^127.0.0.1:${port} cannot be verified: .+\\.$`));
    expect(asked).toBe(1); // no patience for a reload is left after that
  });

  test("of Postgres: it is asked for TLS first, and what answers otherwise is said in words", async () => {
    const answer = (words: string) => talk((socket) => socket.once("data", () => socket.write(words)));
    const cases = [
      [await answer("N"), "this Postgres server does not speak TLS: its setting ssl is off", patient],
      [await answer("HTTP/1.1 400 Bad Request"), "it does not speak as a Postgres server does", patient],
      [await answer("SS"), "it does not speak as a Postgres server does", patient],
      [await talk(() => {}), "it did not answer within 0.1 s", impatient],
      [await talk((socket) => socket.once("data", () => socket.end())), "it closed the connection", patient],
    ] as const;
    const faults = await Promise.all(
      cases.map(([port, , by]) => faultAt(server(`tls://127.0.0.1:${port}`, "postgresql_server_tls"), materialOf(leaf), undefined, by)),
    );
    expect(faults).toEqual(cases.map(([port, words]) => `127.0.0.1:${port} cannot be verified: ${words}.`));
  });
});
