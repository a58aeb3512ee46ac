import { expect, test } from "bun:test";
// @ts-expect-error: the driver neither exports nor declares it
import Queue from "../../node_modules/postgres/src/queue.js";

/** Uses a queue that is never empty, and prints how the heap has grown. In a process of its own, where nothing else takes memory. */
const LOAD = `
  import Queue from ${JSON.stringify(Bun.resolveSync("../../node_modules/postgres/src/queue.js", import.meta.dir))};
  const heapSize = () => (Bun.gc(true), process.memoryUsage().heapUsed);
  const queue = Queue();
  queue.push("connection");
  const before = heapSize();
  for (let count = 0; count < 4_000_000; count++) {
    queue.push("connection");
    queue.shift();
  }
  console.info(JSON.stringify({ growth: heapSize() - before, length: queue.length }));`;

test("a queue of the driver that is never empty, as under load, forgets what has left it", async () => {
  const child = Bun.spawn([process.execPath, "-e", LOAD], { stdout: "pipe" });
  const { growth, length } = await child.stdout.json();
  expect(growth).toBeLessThan(8 * 2 ** 20); // 32 MiB where places of what has left are kept
  expect(length).toBe(1);
});

test("a queue of the driver keeps the order, whatever is removed from its middle", () => {
  const queue = Queue();
  const truth: number[] = [];
  let next = 0;
  for (let step = 0; step < 100_000; step++) {
    const choice = (step * 7919) % 10;
    if (choice < 5 || truth.length === 0) {
      queue.push(next);
      truth.push(next++);
    } else if (choice < 9) expect(queue.shift()).toBe(truth.shift());
    else {
      const [middle] = truth.splice(truth.length >> 1, 1);
      expect(queue.remove(middle)).toBe(middle);
    }
    expect(queue.length).toBe(truth.length);
  }
  expect(queue.remove(-1)).toBeNull();
});
