import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { presented } from "#agent/host/pem";
import type { Desired } from "#agent/server-client";
import { desired, desiredServer, newAgentHost } from "../../support/agent/agent-host";
import { failed } from "../../support/agent/directory-family";
import { stateOf, until } from "../../support/agent/observing";
import { newLeaves, testServer } from "../../support/agent/server-behaviour";
import { newAuthority } from "../../support/pki/authority";
import { runs } from "../../support/pki/tls-clients";
import { endServers, startNginx, writePair } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

const leaves = await newLeaves();
const { leaf, next, authority } = leaves;
afterAll(() => {
  endServers();
  authority.remove();
});

const itemOf = (config: Desired["config"], rest: Partial<Desired> = {}) => desiredServer(leaf, { trustStoreType: "pem_files", config, ...rest });
const text = (path: string) => readFileSync(path, "utf8");

describe("pem_files", () => {
  testServer(
    {
      storeType: "pem_files",
      certificateFile: "tls.crt",
      keyFile: "tls.key",
      isAnyPlace: true,
      start(agent, bootstrap) {
        mkdirSync(agent.pathOf("tls"));
        writePair(agent.pathOf("tls/tls.crt"), agent.pathOf("tls/tls.key"), bootstrap);
        return startNginx(agent.directory);
      },
    },
    () => leaves,
  );

  test("split as far as can be, and combined: each file holds what its name says, keys in a directory of their own; all of it goes again", async () => {
    const agent = await newAgentHost();
    const [place, keys] = [agent.pathOf("made/tls"), agent.pathOf("made/private")];
    const names = { certFileName: "cert.pem", chainFileName: "chain.pem", fullChainFileName: "fullchain.pem", keyFileName: "key.pem" };
    const item = itemOf({ trustStorePath: place, keyDirectory: keys, ...names, combinedFileName: "all.pem", keyPermissionMode: "0640" });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    const [own = "", issuer = ""] = presented(leaf.pem, leaf.chain);
    expect([text(`${place}/cert.pem`), text(`${place}/chain.pem`), text(`${place}/fullchain.pem`)]).toEqual([own, issuer, own + issuer]);
    expect([text(`${keys}/key.pem`), text(`${keys}/all.pem`)]).toEqual([leaf.privateKeyPem, own + issuer + leaf.privateKeyPem]);
    expect([`${keys}/key.pem`, `${keys}/all.pem`, `${place}/cert.pem`].map((path) => lstatSync(path).mode & 0o777)).toEqual([0o640, 0o640, 0o644]);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(agent.files()).toEqual([]);
    expect(() => lstatSync(agent.pathOf("made"))).toThrow("ENOENT");
    agent.remove();
  });

  test("owner and group are those of the config, healed where they drift, and those of the files before once they come back", async () => {
    const agent = await newAgentHost();
    const place = agent.pathOf("tls");
    mkdirSync(place);
    writePair(`${place}/tls.crt`, `${place}/tls.key`, leaves.bootstrap);
    const before = stateOf(place);
    const item = itemOf({ trustStorePath: place, fileOwner: "nobody", fileGroup: "www-data", keyPermissionMode: "0640" });
    const ids = [Number((await runs(["id", "-u", "nobody"])).stdout), Number((await runs(["getent", "group", "www-data"])).stdout.split(":")[2])];
    const owners = () => ["tls.crt", "tls.key"].map((name) => [lstatSync(`${place}/${name}`).uid, lstatSync(`${place}/${name}`).gid]);
    await agent.pass(item);
    expect(owners()).toEqual([ids, ids]);
    await runs(["chown", "root:root", `${place}/tls.crt`]);
    expect(await agent.pass(item)).toMatchObject({ state: "drifted", message: expect.stringContaining(`tls.crt belongs to ‹0:0›, not to ‹${ids.join(":")}›`) });
    expect(owners()).toEqual([ids, ids]);
    await agent.withdraw(item);
    expect(stateOf(place)).toEqual(before);
    agent.remove();
  });

  test.each<[string, Desired["config"], RegExp, Partial<Desired>]>([
    ["no directory", {}, /config\.trustStorePath is required for pem_files/, {}],
    ["an account that the host does not have", { trustStorePath: "/tls", fileOwner: "nemo" }, /config\.fileOwner names the account nemo, which this host/, {}],
    ["a group that the host does not have", { trustStorePath: "/tls", fileGroup: "nemo" }, /config\.fileGroup names the group nemo, which this host/, {}],
    [
      "no file for the key",
      { trustStorePath: "/tls", certFileName: "a.pem" },
      /names no file for it: name config\.keyFileName or config\.combinedFileName/,
      {},
    ],
    ["one file twice", { trustStorePath: "/tls", certFileName: "a.pem", keyFileName: "a.pem" }, /The config names a\.pem twice/, {}],
    ["an unknown preset", { preset: "telnetd" }, /config\.preset must be one of apache2, bind9/, {}],
    ["an unknown protocol", { trustStorePath: "/tls", verifyStartTls: "gopher" }, /config\.verifyStartTls must be one of none, smtp/, {}],
    ["a path as a name", { trustStorePath: "/tls", combinedFileName: "../a.pem" }, /config\.combinedFileName must be one plain name/, {}],
    [
      "a combined file without any key",
      { trustStorePath: "/tls", combinedFileName: "a.pem" },
      /a\.pem has no private key/,
      { includePrivateKey: false, privateKeyPem: null },
    ],
    [
      "a file of intermediates where there are none",
      { trustStorePath: "/tls", certFileName: "a.pem", chainFileName: "b.pem", keyFileName: "k.pem" },
      /comes without intermediates, so b\.pem would be empty/,
      { chain: [] },
    ],
  ])("failed, and nothing is left: %s", async (_, config, words, rest) => {
    const agent = await newAgentHost();
    const trustStorePath = config.trustStorePath && agent.pathOf("tls");
    expect(await agent.pass(itemOf({ ...config, ...(trustStorePath && { trustStorePath }) }, rest))).toMatchObject(failed(words));
    expect(agent.files()).toEqual([]);
    agent.remove();
  });

  test("a server accepts the clients of the authorities in one bundle, each of its own assignment, and no others", async () => {
    const other = await newAuthority();
    const agent = await newAgentHost();
    const place = agent.pathOf("tls");
    mkdirSync(place);
    chmodSync(agent.directory, 0o711);
    writePair(`${place}/tls.crt`, `${place}/tls.key`, leaves.bootstrap);
    const bundle = `${place}/clients.pem`;
    writeFileSync(bundle, authority.intermediate.pem.replace(/^/, "# the operator's own\n"));
    const before = text(bundle);
    const server = await startNginx(agent.directory, `ssl_client_certificate ${bundle}; ssl_verify_client on; ssl_verify_depth 2;`);
    const clients = { ours: next, theirs: await other.issueServer("client.test") };
    for (const [name, issued] of Object.entries(clients)) writePair(agent.pathOf(`${name}.crt`), agent.pathOf(`${name}.key`), issued);
    async function isAccepted(name: keyof typeof clients) {
      const pair = ["--cert", agent.pathOf(`${name}.crt`), "--key", agent.pathOf(`${name}.key`)];
      return (await runs(["curl", "--silent", "--insecure", ...pair, `https://127.0.0.1:${server.port}/`])).stdout === "trusted";
    }
    const accepted = async () => [await isAccepted("ours"), await isAccepted("theirs")];
    const config = { trustStorePath: place, caFileName: "clients.pem", reloadCommand: server.reloadCommand };
    const [ours, theirs] = [authority.root, other.root].map((root) => desired(root, { trustStoreType: "pem_files", config }));
    if (!(ours && theirs)) throw new Error("there are two authorities");
    await until(async () => expect(await accepted()).toEqual([false, false]));
    await agent.pass(ours);
    await until(async () => expect(await accepted()).toEqual([true, false]));
    await agent.pass(theirs);
    await until(async () => expect(await accepted()).toEqual([true, true]));
    writeFileSync(bundle, before);
    expect(await agent.pass(theirs)).toMatchObject({ state: "drifted" });
    await until(async () => expect(await accepted()).toEqual([false, true]));
    await agent.pass(ours);
    await agent.withdraw(theirs);
    await until(async () => expect(await accepted()).toEqual([true, false]));
    await agent.withdraw(ours);
    expect(text(bundle)).toBe(before);
    await server.stop();
    other.remove();
    agent.remove();
  });
});
