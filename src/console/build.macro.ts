import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Page = { index: string; files: { name: string; type: string; text: string }[] };

const OPTIONS = ["--target=browser", "--minify", "--entry-naming=[name]-[hash].[ext]", '--define=process.env.NODE_ENV="production"'];

/**
 * Builds the page at bundling time, so that `bun src/main.ts` and the executable serve the same bytes. It runs in a process of
 * its own, because the bundler waits for its macros.
 */
export function buildPage(): Page {
  const app = join(import.meta.dir, "app");
  const directory = mkdtempSync(join(tmpdir(), "certitude-console-"));
  try {
    const command = [process.execPath, "build", join(app, "index.tsx"), join(app, "style.css"), ...OPTIONS, "--outdir", directory];
    const { success, stderr } = Bun.spawnSync(command, { cwd: app });
    if (!success) throw new Error(stderr.toString());
    const files = readdirSync(directory).map((name) => ({ name, type: typeOf(name), text: readFileSync(join(directory, name), "utf8") }));
    const named = (extension: string) => files.find(({ name }) => name.endsWith(extension))?.name ?? "";
    const template = readFileSync(join(app, "index.html"), "utf8");
    return { index: template.replace("SCRIPT", named(".js")).replace("STYLE", named(".css")), files };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const typeOf = (name: string) => (name.endsWith(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8");
