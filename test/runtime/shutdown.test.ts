import { expect, test } from "bun:test";

/** A process with a log, as a server is, in which `fault` happens. */
async function happens(fault: string) {
  const [shutdown, log] = ["../../src/runtime/shutdown.ts", "../../src/log/log.ts"].map((each) => JSON.stringify(Bun.resolveSync(each, import.meta.dir)));
  const program = `
    import { endOnFault } from ${shutdown};
    import { createLog } from ${log};
    const log = createLog("info");
    endOnFault(log);
    setInterval(() => log.info("still here"), 10);
    ${fault}`;
  const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, err, last: JSON.parse(out.trim().split("\n").at(-1) ?? "{}") };
}

test.each([
  ["a promise that is rejected, and nothing waits for", `void Promise.reject(new TypeError("undefined is no connection"));`],
  ["an error that is thrown in a timer", `setTimeout(() => { throw new TypeError("undefined is no connection"); }, 20);`],
])("%s ends the process with 1 and a line in the log that names it", async (_, fault) => {
  const { code, err, last } = await happens(fault);
  expect({ code, err }).toEqual({ code: 1, err: "" });
  expect(last).toMatchObject({
    level: 60,
    msg: "unexpected error outside of any request or job: the process ends",
    err: { type: "TypeError", message: "undefined is no connection", stack: expect.stringContaining("at ") },
  });
});
