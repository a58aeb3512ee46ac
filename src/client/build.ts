import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

/** The directory of tsconfig.json for declarations: of the whole program, because the routes are inferred from it. */
const ROOT = resolve(import.meta.dir, "../..");
const EMITTED = join(ROOT, "dist/declarations");
const OUT = join(ROOT, "dist/client");

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });

// Names that cannot be written down elsewhere in the program are no fault of what is published: tests compile that.
const compiler = Bun.spawn([process.execPath, join(ROOT, "node_modules/typescript/bin/tsc"), "--project", import.meta.dir, "--pretty", "false"], {
  stdout: "pipe",
  stderr: "inherit",
});
const faults = (await compiler.stdout.text()).split("\n").filter((line) => line.startsWith("src/client/") || line.startsWith("error"));
if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
const declarations = join(EMITTED, "src/client");
for (const name of readdirSync(declarations)) await Bun.write(join(OUT, name), Bun.file(join(declarations, name)));
rmSync(EMITTED, { recursive: true });

await Bun.build({ entrypoints: [join(import.meta.dir, "index.ts")], outdir: OUT, target: "browser", packages: "external" });
