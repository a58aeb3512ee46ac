import { expect, test } from "bun:test";
import { GUIDE_NAMES } from "#http/guides/pages";
import { openBrowser } from "../support/browser/browser";
import { newPlace, serve } from "../support/server/executable";

test("GET /docs and its guides are readable on a phone, in the dark and by everyone, and ask nobody but the server", async () => {
  const { cwd, dataDir, remove } = newPlace();
  const server = await serve({ cwd, env: { DATA_DIR: dataDir } });
  const { page, faults, findBarriers, photograph, close } = await openBrowser(server.url);
  try {
    await page.goto(`${server.url}/docs`);
    for (const name of ["", ...GUIDE_NAMES]) {
      if (name) await page.locator(`main a[href="docs/${name}"]`).click();
      await page.locator("h1").waitFor();
      expect({ name, barriers: await findBarriers(), widths: await photograph(`guide-${name}`) }).toEqual({ name, barriers: [], widths: [] });
      if (name) await page.goBack();
    }
    expect(faults).toEqual([]);
  } finally {
    await close();
    await server.stop();
    remove();
  }
}, 120_000);
