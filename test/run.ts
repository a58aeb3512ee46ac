// bun test/run.ts [--slow|--all] [--processes=N] [OPTIONS AND PATHS OF bun test]: runs the test files in parts, several at once, each in a
// process with a server and a database of its own. Prints each file when it is done, with what failed in it, and ends with a total.
import { availableParallelism } from "node:os";
import { packOnce } from "#db/pack-template";

const SLOW = ".slow.test.ts";
const MOST = 4;
/** Said by bun test at its end; a test that ends the process leaves it out. */
const LAST_WORDS = /^(Ran \d+ tests? across |No tests found!|The following filters did not match )/;
/** A program that a dead process left running may keep the pipe open. */
const REST_OF_OUTPUT_MS = 5_000;
/** More parts than processes: one with slow files keeps no other process waiting at the end. */
const PARTS_EACH = 2;

const given = process.argv.slice(2);
const which = given.find((each) => each === "--slow" || each === "--all") ?? "fast";
const processes = Number(given.find((each) => each.startsWith("--processes="))?.split("=")[1] ?? Math.min(MOST, availableParallelism()));
const rest = given.filter((each) => each !== which && !each.startsWith("--processes="));
const left = { "--all": [], "--slow": ["**/!(*.slow).test.ts"], fast: [`**/*${SLOW}`] }[which] ?? [];

const say = (line: string) => void process.stdout.write(`${line}\n`);
const total = { pass: 0, fail: 0, skip: 0 };
const failed: string[] = [];
const missing = new Set<string>();

/** Collects what one process says of its files, and prints each file once the next begins. */
function createListener() {
  const counted = { pass: 0, fail: 0, skip: 0 };
  let [file, began] = ["", performance.now()];
  let lines: string[] = [];
  let isOver = false;
  let hasEnded = false;

  function flush() {
    const title = `${file} ${((performance.now() - began) / 1_000).toFixed(1)} s`;
    const isGood = !lines.some((line) => /^\(fail\) |^(error|\w*Error): |Unhandled error/.test(line));
    if (file !== "") say(isGood ? title : [title, ...lines].join("\n"));
    began = performance.now();
    lines = [];
  }

  function hearOfTest(line: string) {
    const begun = /^(test\/\S+\.ts):$/.exec(line)?.[1];
    if (begun) {
      flush();
      file = begun;
    } else if (line.startsWith("not installed: ")) for (const each of line.split(" ").slice(2)) missing.add(each);
    else if (!/^\((pass|skip)\) /.test(line)) lines.push(line);
    if (line.startsWith("(fail) ")) failed.push(`${file}: ${line.slice("(fail) ".length)}`);
    if (line === "# Unhandled error between tests") failed.push(`${file}: an error beside its tests`);
  }

  function hear(line: string) {
    if (LAST_WORDS.test(line)) hasEnded = true;
    const [, count, word] = /^\s*(\d+) (pass|fail|skip)$/.exec(line) ?? [];
    if (word) counted[word as keyof typeof counted] = Number(count);
    else if (/^\d+ tests? failed:$/.test(line))
      isOver = true; // what follows was said before
    else if (!isOver) hearOfTest(line);
  }
  return { hear, flush, counted, hasEnded: () => hasEnded };
}

async function readLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>, hear: (line: string) => void) {
  let begun = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (begun + text).split("\n");
    begun = lines.pop() ?? "";
    for (const line of lines) hear(line);
  }
}

const running = new Set<Bun.Subprocess>();

async function runPart(part: number, parts: number) {
  const ignored = left.map((each) => `--path-ignore-patterns=${each}`);
  const argv = ["bun", "test", "--timeout=300000", "--pass-with-no-tests", `--shard=${part}/${parts}`, ...rest, ...ignored];
  const env = { ...Bun.env, NO_COLOR: "1" };
  const child = Bun.spawn(["sh", "-c", 'exec "$@" 2>&1', "sh", ...argv], { stdin: "ignore", stdout: "pipe", stderr: "inherit", env });
  running.add(child);
  const { hear, flush, counted, hasEnded } = createListener();
  await Promise.race([readLines(child.stdout, hear), child.exited.then(() => Bun.sleep(REST_OF_OUTPUT_MS))]);
  flush();
  const code = await child.exited;
  running.delete(child);
  if (!hasEnded() || (code !== 0 && counted.fail === 0)) {
    counted.fail ||= 1; // it crashed, was ended by a test, or failed beside its tests
    failed.push(`part ${part} of ${parts} ended with ${code}`);
  }
  for (const word of ["pass", "fail", "skip"] as const) total[word] += counted[word];
}

await packOnce(); // or else each process would make it
const parts = processes === 1 ? 1 : processes * PARTS_EACH;
const waiting = Array.from({ length: parts }, (_, index) => index + 1);
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => {
    waiting.length = 0;
    for (const child of running) child.kill(signal);
  });
async function work() {
  for (let part = waiting.shift(); part; part = waiting.shift()) await runPart(part, parts);
}
await Promise.all(Array.from({ length: processes }, work));

for (const each of failed) say(`failed: ${each}`);
if (missing.size > 0) say(`left out: ${total.skip} tests, because these are not installed: ${[...missing].toSorted().join(", ")}`);
if (which === "fast") say(`left out: ${[...new Bun.Glob(`**/*${SLOW}`).scanSync("test")].length} slow files, which bun run test:slow runs`);
say(`${total.pass} passed, ${total.fail} failed`);
process.exit(total.fail > 0 || total.pass === 0 ? 1 : 0);
