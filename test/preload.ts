import { afterAll } from "bun:test";
import { endings } from "./support/server/endings";
import { world } from "./support/server/world";

afterAll(async () => {
  for (const end of endings) await end();
  await world.stop();
});
