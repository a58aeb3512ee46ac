import { expect, test } from "bun:test";
// @ts-expect-error: the driver neither exports nor declares it
import Queue from "../../node_modules/postgres/src/queue.js";

const MIB = 2 ** 20;

function heapSize() {
  Bun.gc(true);
  return process.memoryUsage().heapUsed;
}

test("a queue of the driver that is never empty, as under load, forgets what has left it", () => {
  const queue = Queue();
  const before = heapSize();
  queue.push("connection");
  for (let count = 0; count < 4_000_000; count++) {
    queue.push("connection");
    queue.shift();
  }
  expect(heapSize() - before).toBeLessThan(8 * MIB); // 32 MiB where places of what has left are kept
  expect(queue.length).toBe(1);
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
