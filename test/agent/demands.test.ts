import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import type { Host } from "#agent/host/host";
import type { Result } from "#agent/report";
import { newAgentHost } from "../support/agent/agent-host";
import { assigned, FAMILY, failed, newStock, placesIn, type Stock } from "../support/agent/directory-family";

setDefaultTimeout(300_000);

let stock: Stock;
beforeAll(async () => {
  stock = await newStock();
});
afterAll(() => stock.remove());

for (const member of FAMILY)
  describe.concurrent(member[0], () => {
    test("failed: paths that lead elsewhere, whatever the server says; nothing is written anywhere", async () => {
      const agent = await newAgentHost();
      const { directory, item } = assigned(stock, member, agent.pathOf("place"));
      mkdirSync(directory);
      const before = placesIn(agent.directory);
      for (const field of ["alias", "certFileName", "keyFileName"])
        for (const value of ["../evil", "a/b", "..", ".", "/etc/evil", "a\\b", "a\nb", "nul\0"])
          expect([field, value, await agent.pass({ ...item, config: { ...item.config, [field]: value } })]).toMatchObject([field, value, { state: "failed" }]);
      for (const trustStorePath of [`${directory}/../evil`, "../evil", "evil", "", "/tmp/\0evil"])
        expect([trustStorePath, await agent.pass({ ...item, config: { ...item.config, trustStorePath } })]).toMatchObject([
          trustStorePath,
          { state: "failed" },
        ]);
      expect(placesIn(agent.directory)).toEqual(before);
      agent.remove();
    });

    test("failed and rolled back: a reloadCommand that never ends, or has 200 words", async () => {
      const agent = await newAgentHost();
      const { directory, item } = assigned(stock, member, agent.pathOf("place"));
      mkdirSync(directory);
      const pids = agent.pathOf("pids");
      const reloadCommand = ["sh", "-c", `sleep 300 & echo $! $$ >>${pids}; exec sleep 300`];
      const endless = { ...item, config: { ...item.config, reloadCommand } };
      const result = await passInTime(pids, (patience) => agent.pass(endless, { host: { ...agent.host, patience } }));
      expect(result).toMatchObject(failed(/^sh did not end within \d.* s and was stopped. Rolled back: the store is as it was./));
      expect(readdirSync(directory)).toEqual([]);
      for (const pid of linesOf(pids).flatMap((line) => line.split(" "))) expect(isRunning(Number(pid))).toBe(false);
      expect(await agent.pass({ ...item, config: { ...item.config, reloadCommand: ["echo", ...Array(199).fill("x")] } })).toMatchObject(
        failed(/config\/reloadCommand/),
      );
      expect(readdirSync(directory)).toEqual([]);
      agent.remove();
    });

    test("installed: a reloadCommand that leaves a program behind, which holds its pipes", async () => {
      const agent = await newAgentHost();
      const { directory, item } = assigned(stock, member, agent.pathOf("place"));
      mkdirSync(directory);
      const pid = agent.pathOf("pid");
      const patient = { ...agent.host, patience: { ...agent.host.patience, tool: 300_000 } }; // longer than this test may take
      expect(
        await agent.pass({ ...item, config: { ...item.config, reloadCommand: ["sh", "-c", `sleep 300 & echo $! >${pid}`] } }, { host: patient }),
      ).toMatchObject({
        state: "installed",
      });
      const left = Number(readFileSync(pid, "utf8"));
      expect(isRunning(left)).toBe(true); // the agent did not wait for it
      process.kill(left, "SIGKILL");
      agent.remove();
    });
  });

const linesOf = (path: string) => (existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : []);

/**
 * Passes of a host that waits longer for its programs each time, until a busy machine has let the reload begin both times, at the attempt and
 * at its rollback, and `openssl rehash` end. Returns the result of the last.
 */
async function passInTime(pids: string, pass: (patience: Host["patience"]) => Promise<Result>) {
  for (let tool = 200; ; tool *= 2) {
    rmSync(pids, { force: true });
    const result = await pass({ tool, connection: tool, reload: tool });
    if (linesOf(pids).length === 2 && !result?.message?.includes("openssl did not end")) return result;
  }
}

/** A process that has ended may wait to be reaped: it runs no more. */
function isRunning(pid: number) {
  const status = statSync(`/proc/${pid}`, { throwIfNoEntry: false }) && readFileSync(`/proc/${pid}/stat`, "utf8");
  return Boolean(status) && !/\) [ZX] /.test(status ?? "");
}
