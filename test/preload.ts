import { afterAll } from "bun:test";
import { endings } from "./support/server/endings";
import { world } from "./support/server/world";

async function end() {
  for (const each of endings) await each();
  await world.stop();
}
afterAll(end);

/** At Ctrl-C no hook of a test runs: what the process has made is taken away here, once. */
let isInterrupted = false;
async function interrupt(code: number) {
  if (isInterrupted) return;
  isInterrupted = true;
  await end().finally(() => process.exit(code));
}
process.on("SIGINT", () => interrupt(130)).on("SIGTERM", () => interrupt(143));
