import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askServer, serveTasks, type Tasks } from "#maintenance/socket";

setDefaultTimeout(300_000);

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

function newDirectory() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-socket-"));
  ends.push(() => rmSync(directory, { recursive: true }));
  return directory;
}

function serve(tasks: Tasks) {
  const directory = newDirectory();
  ends.push(serveTasks(directory, tasks));
  return directory;
}

describe("a task of the running server", () => {
  test("is done, and reports its progress, also after a silence that ends an ordinary request", async () => {
    const directory = serve({
      async copy(report, { name }) {
        report(`copies to ${name}`);
        await Bun.sleep(14_000);
        report("copied");
      },
    });
    const lines: string[] = [];
    expect(await askServer(directory, "copy", (line) => lines.push(line), { name: "x" })).toBe(true);
    expect(lines).toEqual(["copies to x", "copied"]);
    expect(statSync(join(directory, "admin.sock")).mode & 0o777).toBe(0o600);
  });

  test("rejects with what went wrong, and where the server is of another release", async () => {
    const directory = serve({ copy: () => Promise.reject(new Error("No space is left.")) });
    await expect(askServer(directory, "copy", () => {})).rejects.toThrow("No space is left.");
    await expect(askServer(directory, "other", () => {})).rejects.toThrow('knows no task "other"');
  });

  test.each([0, 3_000])("rejects in words where the server is killed, %d ms after it began to report", async (delay) => {
    const directory = newDirectory();
    const script = `import { serveTasks } from ${JSON.stringify(join(import.meta.dir, "../../src/maintenance/socket"))};
      serveTasks(${JSON.stringify(directory)}, { async copy(tell) {
        if (${delay}) tell("begins");
        setTimeout(() => process.kill(process.pid, "SIGKILL"), ${delay});
        await Bun.sleep(60_000);
      } });
      console.log("serves");`;
    const server = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
    await server.stdout.getReader().read();
    await expect(askServer(directory, "copy", () => {})).rejects.toThrow("The server ended before the task was done.");
    await server.exited;
  });

  test("is false where no server runs, also where a killed one has left its socket", async () => {
    const directory = newDirectory();
    expect(await askServer(directory, "copy", () => {})).toBe(false);
    const left = Bun.spawn([process.execPath, "-e", `Bun.serve({ unix: ${JSON.stringify(join(directory, "admin.sock"))}, fetch: () => new Response() })`]);
    while (
      !(await Bun.file(join(directory, "admin.sock"))
        .stat()
        .catch(() => undefined))
    )
      await Bun.sleep(20);
    left.kill("SIGKILL");
    await left.exited;
    expect(await askServer(directory, "copy", () => {})).toBe(false);
  });
});
