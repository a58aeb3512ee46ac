import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { lchownSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Desired } from "../../src/agent/exchange";
import type { TrustStoreType } from "../../src/modules/trust-stores/catalogue";
import { desired, desiredServer, newAgentHost } from "../support/agent-host";
import { type Issued, newAuthority } from "../support/authority";
import { passAsNobody } from "../support/other-user";
import { stateOf } from "../support/server-conduct";

setDefaultTimeout(60_000);

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

/** The stores that are a directory of files: the first file of each, and what else its config names. */
const FAMILY: [store: TrustStoreType, file: string, material: "anchor" | "server" | "client", config?: Desired["config"]][] = [
  ["openssl_ca_dir", "corp.pem", "anchor"],
  ["nginx_tls", "tls.crt", "server"],
  ["haproxy_tls", "tls.pem", "server"],
  ["postgresql_server_tls", "server.crt", "server"],
  ["redis_server_tls", "redis.crt", "server"],
  ["docker_certs_d", "corp.crt", "anchor"],
  ["podman_certs_d", "client.cert", "client"],
  ["containerd_certs_d", "corp.crt", "anchor"],
];

type Place = { directory: string; file: string; item: Desired; renewed: Desired };
/** What the agent is to install into a directory, and what takes its place later. */
function assigned([trustStoreType, file, material]: (typeof FAMILY)[number], trustStorePath: string): Place {
  const reloads = { anchor: {}, client: {}, server: { reloadCommand: ["true"] } }[material];
  const config = { trustStorePath, ...(material === "anchor" && { alias: "corp" }), ...reloads };
  const rest = { trustStoreType, config, ...(material === "client" && { materialType: "client_certificate" as const }) };
  const item = material === "anchor" ? desired(authority.root, rest) : desiredServer(leaf, rest);
  const { pem, fingerprint, ...issued } = material === "anchor" ? other.root : next;
  const privateKeyPem = material === "anchor" ? null : issued.privateKeyPem;
  return { directory: trustStorePath, file, item, renewed: { ...item, version: 2, pem, fingerprintSha256: fingerprint, privateKeyPem } };
}

const mounted = new Set<string>();
/** A disk of its own in the directory. */
async function mount(directory: string, size: string) {
  mkdirSync(directory);
  await Bun.$`mount -t tmpfs -o size=${size} none ${directory}`.quiet();
  mounted.add(directory);
}
async function unmount(directory: string) {
  await Bun.$`umount ${directory}`.quiet();
  mounted.delete(directory);
}
/** What a test that failed has left. */
afterAll(async () => {
  for (const each of mounted) await unmount(each);
});

function fill(path: string) {
  try {
    for (;;) writeFileSync(path, "x".repeat(512), { flag: "a" });
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("ENOSPC");
  }
}

const failed = (words: RegExp) => ({ state: "failed", message: expect.stringMatching(words) });

for (const member of FAMILY)
  describe(member[0], () => {
    /** A place that is bad for whatever is written there: `words` say why, and everything stays as it was. */
    async function expectFailure(words: RegExp, spoil: (place: Place) => unknown, pass?: (item: Desired) => Promise<unknown>) {
      const agent = await newAgentHost();
      const place = assigned(member, agent.pathOf("place"));
      mkdirSync(place.directory);
      await spoil(place);
      const before = stateOf(agent.directory);
      expect(await (pass ?? agent.pass)(place.item)).toMatchObject(failed(words));
      expect(withoutState(stateOf(agent.directory))).toEqual(withoutState(before));
      agent.remove();
    }

    test("failed: a full disk, for what is new and for what takes its place", async () => {
      const agent = await newAgentHost();
      const { directory, item, renewed } = assigned(member, agent.pathOf("place"));
      await mount(directory, "64k");
      fill(join(directory, "filler"));
      const full = stateOf(directory);
      expect(await agent.pass(item)).toMatchObject(failed(/cannot be written: there is no space left on its disk. Make room there./));
      expect(stateOf(directory)).toEqual(full);
      rmSync(join(directory, "filler"));
      expect(await agent.pass(item)).toMatchObject({ state: "installed" });
      fill(join(directory, "filler"));
      const before = stateOf(directory);
      expect(await agent.pass(renewed)).toMatchObject(failed(/there is no space left on its disk/));
      expect(stateOf(directory)).toEqual(before);
      rmSync(join(directory, "filler"));
      expect(await agent.pass(renewed)).toMatchObject({ state: "installed" });
      await unmount(directory);
      agent.remove();
    });

    test("failed: a read-only file system", async () => {
      const agent = await newAgentHost();
      const { directory, item, renewed } = assigned(member, agent.pathOf("place"));
      await mount(directory, "1m");
      await agent.pass(item);
      await Bun.$`mount -o remount,ro ${directory}`.quiet();
      const before = stateOf(directory);
      expect(await agent.pass(renewed)).toMatchObject(failed(/cannot be written: its file system is read-only. Mount it writable, or choose another place./));
      expect(await agent.withdraw(item)).toMatchObject(failed(/its file system is read-only/));
      expect(stateOf(directory)).toEqual(before);
      await unmount(directory);
      agent.remove();
    });

    test("failed: an agent that may not write there", () =>
      expectFailure(
        /cannot be written: the agent's user may not. Run the agent as root, or give its user the right./,
        async ({ directory }) => {
          const above = join(directory, "..");
          await Bun.$`chmod 711 ${above}`.quiet();
        },
        passAsNobody,
      ));

    test("failed: a file where the directory should be", () =>
      expectFailure(/something on the way to it is not a directory. Correct the path./, ({ directory }) => {
        rmSync(directory, { recursive: true });
        writeFileSync(directory, "precious");
      }));

    test("failed: the link of another user, wherever it leads; root's own is followed", async () => {
      await expectFailure(/is a symbolic link of another user. It is not followed./, ({ directory }) => {
        mkdirSync(`${directory}-elsewhere`);
        rmSync(directory, { recursive: true });
        symlinkSync(`${directory}-elsewhere`, directory);
        lchownSync(directory, 65_534, 65_534);
      });
      const agent = await newAgentHost();
      mkdirSync(agent.pathOf("real"));
      symlinkSync(agent.pathOf("real"), agent.pathOf("place"));
      const { item, file } = assigned(member, agent.pathOf("place"));
      expect(await agent.pass(item)).toMatchObject({ state: "installed" });
      expect(readdirSync(agent.pathOf("real"))).toContain(file);
      agent.remove();
    });

    test("failed: a link, a pipe, a device or a directory in the file's place, and a file that is far too big", async () => {
      await expectFailure(/is a symbolic link to .*Name the file itself, or remove the link/, ({ directory, file }) => {
        writeFileSync(join(directory, "precious"), "precious");
        symlinkSync("precious", join(directory, file));
      });
      await expectFailure(/is not a plain file/, ({ directory, file }) => Bun.$`mkfifo ${join(directory, file)}`.quiet());
      await expectFailure(/is not a plain file/, ({ directory, file }) => Bun.$`mknod ${join(directory, file)} c 1 5`.quiet());
      await expectFailure(/is not a plain file/, ({ directory, file }) => mkdirSync(join(directory, file)));
      await expectFailure(/has over 32 MiB, which no trust store has/, ({ directory, file }) => {
        writeFileSync(join(directory, file), "");
        truncateSync(join(directory, file), 32 * 1024 * 1024 + 1);
      });
    });

    test("failed: paths that lead elsewhere, whatever the server says; nothing is written anywhere", async () => {
      const agent = await newAgentHost();
      const { directory, item } = assigned(member, agent.pathOf("place"));
      mkdirSync(directory);
      const before = withoutState(stateOf(agent.directory));
      for (const field of ["alias", "certFileName", "keyFileName"])
        for (const value of ["../evil", "a/b", "..", ".", "/etc/evil", "a\\b", "a\nb", "nul\0"])
          expect([field, value, await agent.pass({ ...item, config: { ...item.config, [field]: value } })]).toMatchObject([field, value, { state: "failed" }]);
      for (const trustStorePath of [`${directory}/../evil`, "../evil", "evil", "", "/tmp/\0evil"])
        expect([trustStorePath, await agent.pass({ ...item, config: { ...item.config, trustStorePath } })]).toMatchObject([
          trustStorePath,
          { state: "failed" },
        ]);
      expect(withoutState(stateOf(agent.directory))).toEqual(before);
      agent.remove();
    });

    test("failed and rolled back: a reloadCommand that never ends, or has 200 words", async () => {
      const agent = await newAgentHost();
      const { directory, item } = assigned(member, agent.pathOf("place"));
      mkdirSync(directory);
      const host = { ...agent.host, patience: { ...agent.host.patience, tool: 400 } };
      const endless = (line: string) => ({ ...item, config: { ...item.config, reloadCommand: ["sh", "-c", line] } });
      const pid = agent.pathOf("pid");
      for (const line of [`echo $$ >>${pid}; exec sleep 300`, `sleep 300 & echo $! >>${pid}; wait`]) {
        expect(await agent.pass(endless(line), { host })).toMatchObject(
          failed(/^sh did not end within 0.4 s and was stopped. Rolled back: the store is as it was./),
        );
        expect(readdirSync(directory)).toEqual([]);
        for (const each of readFileSync(pid, "utf8").trim().split("\n")) expect(isRunning(Number(each))).toBe(false);
      }
      expect(await agent.pass({ ...item, config: { ...item.config, reloadCommand: ["echo", ...Array(199).fill("x")] } })).toMatchObject(
        failed(/config\/reloadCommand/),
      );
      expect(readdirSync(directory)).toEqual([]);
      agent.remove();
    });

    test("installed: a reloadCommand that leaves a program behind, which holds its pipes", async () => {
      const agent = await newAgentHost();
      const { directory, item } = assigned(member, agent.pathOf("place"));
      mkdirSync(directory);
      const pid = agent.pathOf("pid");
      const start = performance.now();
      expect(await agent.pass({ ...item, config: { ...item.config, reloadCommand: ["sh", "-c", `sleep 300 & echo $! >${pid}`] } })).toMatchObject({
        state: "installed",
      });
      expect(performance.now() - start).toBeLessThan(20_000);
      process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
      agent.remove();
    });
  });

const withoutState = (state: Record<string, string>) => Object.fromEntries(Object.entries(state).filter(([name]) => !/^(state|home)(\/|$)/.test(name)));

/** A process that has ended may wait to be reaped: it runs no more. */
function isRunning(pid: number) {
  const status = statSync(`/proc/${pid}`, { throwIfNoEntry: false }) && readFileSync(`/proc/${pid}/stat`, "utf8");
  return Boolean(status) && !/\) [ZX] /.test(status ?? "");
}
