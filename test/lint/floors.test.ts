import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Glob } from "bun";

setDefaultTimeout(300_000);

const ROOT = resolve(import.meta.dir, "../..");
const FILES = [...new Glob("src/**/*.ts").scanSync(ROOT)].filter((path) => !path.endsWith(".d.ts"));
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "certitude-floors-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Plants a file with one import at each path, and returns the paths whose import the linter refuses. */
async function refused(imports: (readonly [path: string, specifier: string])[]) {
  const root = mkdtempSync(join(directory, "planted-"));
  cpSync(join(ROOT, ".biome.json"), join(root, "biome.json"));
  for (const [path, specifier] of imports) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `import { planted } from "${specifier}";\n\nplanted();\n`);
  }
  const only = ["--vcs-enabled=false", "--only=style/noRestrictedImports", "--max-diagnostics=none", "--reporter=json"];
  const { stdout } = await Bun.$`${join(ROOT, "node_modules/.bin/biome")} lint ${only} .`.cwd(root).quiet().nothrow();
  const { diagnostics } = JSON.parse(stdout.toString()) as { diagnostics: { category: string; location: { path: string | { file: string } } }[] };
  const paths = diagnostics.filter(({ category }) => category === "lint/style/noRestrictedImports").map(({ location: { path } }) => path);
  return paths.map((path) => (typeof path === "string" ? path : path.file).replace(/^\.\//, "")).toSorted();
}

test("every file of src stands on a floor: none may import the executable's own file", async () => {
  expect(await refused(FILES.map((path) => [path, "#main"] as const))).toEqual(FILES.toSorted());
});

test("an import of a higher floor is refused", async () => {
  const planted = [
    ["src/commands/a.ts", "#modules/people/users/routes"],
    ["src/jobs/a.ts", "#commands/serve"],
    ["src/demo/a.ts", "#modules/people/users/routes"],
    ["src/modules/people/users/routes.ts", "#modules/people/sessions/routes"],
    ["src/modules/people/members/routes.ts", "#db/connect"],
    ["src/modules/people/users/queries.ts", "#guards/signed-in"],
    ["src/modules/people/members/queries.ts", "elysia"],
    ["src/modules/people/audit/queries.ts", "./routes"],
    ["src/modules/fleet/rollouts/queries/a.ts", "../routes"],
    ["src/modules/fleet/rollouts/rules.ts", "#db/connect"],
    ["src/modules/fleet/agents/rules/a.ts", "#http/etag"],
    ["src/modules/fleet/agents/schema.ts", "#deps"],
    ["src/modules/notifications/inbox/services/a.ts", "#guards/signed-in"],
    ["src/modules/certificates/certificates/x509/a.ts", "#db/connect"],
    ["src/guards/a.ts", "#app"],
    ["src/auth/a.ts", "#guards/signed-in"],
    ["src/limits/a.ts", "#guards/signed-in"],
    ["src/http/a.ts", "#guards/signed-in"],
    ["src/db/a.ts", "#http/etag"],
    ["src/db/tables/a.ts", "#modules/people/users/queries"],
    ["src/storage/a.ts", "#db/connect"],
    ["src/mail/a.ts", "#modules/people/members/rules"],
    ["src/outbound/a.ts", "#modules/core/connections/rules/kinds"],
    ["src/client/a.ts", "#http/schema"],
    ["src/cluster/a.ts", "#config"],
    ["src/crypto/a.ts", "#config"],
    ["src/catalogue/a.ts", "#http/schema"],
    ["src/backup/a.ts", "#modules/people/users/queries"],
    ["src/maintenance/a.ts", "#commands/serve"],
    ["src/agent/a.ts", "#db/connect"],
    ["src/agent/stores/a.ts", "../state"],
    ["src/agent/transaction/a.ts", "../stores/stores"],
    ["src/agent/host/a.ts", "../transaction/journal"],
  ] as const;
  expect(await refused([...planted])).toEqual(planted.map(([path]) => path).toSorted());
});

test("an import of a lower floor is not", async () => {
  const planted = [
    ["src/modules/people/users/routes.ts", "#guards/signed-in"],
    ["src/modules/people/users/queries.ts", "#db/connect"],
    ["src/modules/fleet/rollouts/queries/a.ts", "../rules"],
    ["src/modules/core/connections/services/a.ts", "#outbound/http-client"],
    ["src/agent/stores/a.ts", "../store"],
  ] as const;
  expect(await refused([...planted])).toEqual([]);
});
