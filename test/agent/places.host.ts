import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { lchownSync, mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Desired } from "#agent/server-client";
import { openState } from "#agent/state";
import { newAgentHost } from "../support/agent/agent-host";
import { assigned, FAMILY, failed, newStock, type Place, placesIn, type Stock } from "../support/agent/directory-family";
import { stateOf } from "../support/agent/observing";
import { passAsNobody } from "../support/agent/other-user";

setDefaultTimeout(300_000);

let stock: Stock;
beforeAll(async () => {
  stock = await newStock();
});
afterAll(() => stock.remove());

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

test("the agent's own directory on a full disk is reported in words, and is locked once there is room", async () => {
  const agent = await newAgentHost();
  const directory = agent.pathOf("full");
  await mount(directory, "16k");
  await Bun.$`chmod 700 ${directory} && mkdir ${join(directory, "assignments")}`.quiet();
  fill(join(directory, "filler"));
  await expect(openState(directory)).rejects.toThrow(`--state-dir ${directory} cannot be locked: there is no space left on its disk. Make room there.`);
  rmSync(join(directory, "filler"));
  (await openState(directory)).close();
  await unmount(directory);
  agent.remove();
});

for (const member of FAMILY)
  describe(member[0], () => {
    /** A place that is bad for whatever is written there: `words` say why, and everything stays as it was. */
    async function expectFailure(words: RegExp, spoil: (place: Place) => unknown, pass?: (item: Desired) => Promise<unknown>) {
      const agent = await newAgentHost();
      const place = assigned(stock, member, agent.pathOf("place"));
      mkdirSync(place.directory);
      await spoil(place);
      const before = placesIn(agent.directory);
      expect(await (pass ?? agent.pass)(place.item)).toMatchObject(failed(words));
      expect(placesIn(agent.directory)).toEqual(before);
      agent.remove();
    }

    test("failed: a full disk, for what is new and for what takes its place", async () => {
      const agent = await newAgentHost();
      const { directory, item, renewed } = assigned(stock, member, agent.pathOf("place"));
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
      const { directory, item, renewed } = assigned(stock, member, agent.pathOf("place"));
      await mount(directory, "1m");
      await agent.pass(item);
      await Bun.$`mount -o remount,ro ${directory}`.quiet();
      const before = stateOf(directory);
      expect(await agent.pass(renewed)).toMatchObject(
        failed(
          /cannot be written: its file system is read-only. Mount it writable, choose another place or, where the agent is a service, install it with --write/,
        ),
      );
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
      const { item, file } = assigned(stock, member, agent.pathOf("place"));
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
  });
