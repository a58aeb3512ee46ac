import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { newAgentHost } from "../support/agent/agent-host";
import { assigned, FAMILY, failed, newStock, placesIn, type Stock } from "../support/agent/directory-family";

setDefaultTimeout(60_000);

let stock: Stock;
beforeAll(async () => {
  stock = await newStock();
});
afterAll(() => stock.remove());

for (const member of FAMILY)
  describe(member[0], () => {
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
      const tool = member[0] === "openssl_ca_dir" ? 6_000 : 3_000; // its own tool must have its time
      const host = { ...agent.host, patience: { ...agent.host.patience, tool } };
      const pids = agent.pathOf("pids");
      const reloadCommand = ["sh", "-c", `sleep 300 & echo $! $$ >>${pids}; exec sleep 300`];
      expect(await agent.pass({ ...item, config: { ...item.config, reloadCommand } }, { host })).toMatchObject(
        failed(/^sh did not end within \d.* s and was stopped. Rolled back: the store is as it was./),
      );
      expect(readdirSync(directory)).toEqual([]);
      for (const pid of readFileSync(pids, "utf8").trim().split(/\s/)) expect(isRunning(Number(pid))).toBe(false);
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

/** A process that has ended may wait to be reaped: it runs no more. */
function isRunning(pid: number) {
  const status = statSync(`/proc/${pid}`, { throwIfNoEntry: false }) && readFileSync(`/proc/${pid}/stat`, "utf8");
  return Boolean(status) && !/\) [ZX] /.test(status ?? "");
}
