import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { endServers, newPlace, run, serve } from "../support/server/program";

setDefaultTimeout(300_000);
afterEach(endServers);

const COUNTED = ["certificates", "trust-store-coverage", "assignment-drifts", "inbox-reads"].map((each) => `${each}: counted again`).join("\n");

describe("certitude counts rebuild", () => {
  test("says what it is for", async () => {
    const { code, out } = await run(["counts", "rebuild", "--help"]);
    expect([code, out]).toEqual([0, expect.stringContaining("Every write keeps the counts right")]);
  });

  test("counts again while a server serves, and without one", async () => {
    const { env, remove } = await newPlace();
    const server = serve(env);
    await server.url();
    expect(await run(["counts", "rebuild"], env)).toMatchObject({ code: 0, out: COUNTED });
    await server.exit("SIGTERM");
    expect(await run(["counts", "rebuild"], env)).toMatchObject({ code: 0, out: COUNTED });
    await remove();
  });
});
