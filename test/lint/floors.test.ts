import { expect, test } from "bun:test";
import { Glob } from "bun";
import { FILES, type Import, readImports } from "./imports";
import { ROOMS, type Room } from "./rooms";

const compile = (patterns = "") => patterns.split(" ").flatMap((each) => (each === "" ? [] : new Glob(each)));
const fits = (globs: Glob[], path: string) => globs.some((each) => each.match(path));

const TABLE = ROOMS.map(({ because, ...room }) => {
  const { of, may, types, never } = Object.fromEntries(Object.entries(room).map(([part, patterns]) => [part, compile(patterns)])) as Record<keyof Room, Glob[]>;
  const own = room.of.split(" ").filter((each) => each.endsWith("/**"));
  return { of, may, types: types ?? [], never: never ?? [], own: own.map((each) => new Glob(each)), because };
});

/** Returns why the path may not have this import; undefined where it may. Packages are for all, but for the web framework. */
function findFault({ path, target, isPackage, isType }: Import) {
  const room = TABLE.find(({ of }) => fits(of, path));
  if (!room) return `${path}: no row of the table is for it`;
  if ((isPackage && target !== "elysia") || target.startsWith("../")) return; // what is outside of src
  const isOwn = room.own.some((each) => each.match(path) && each.match(target));
  const isPermitted = (isOwn || fits(room.may, target) || (isType && fits(room.types, target))) && !fits(room.never, target);
  return isPermitted ? undefined : `${path} imports ${target}: ${room.because}`;
}

/** Returns the paths of which the one import is refused. */
const refused = (imports: (readonly [path: string, line: string])[]) =>
  imports.filter(([path, line]) => readImports(path, line).some((each) => findFault(each) !== undefined)).map(([path]) => path);
const importOf = (given: string) => `import { planted } from "${given}";`;

test("every import of src is one that the table of rooms permits", () => {
  expect(FILES.flatMap((path) => readImports(path)).flatMap((each) => findFault(each) ?? [])).toEqual([]);
});

test("every file of src stands on a floor: none may import the executable's own file", () => {
  expect(refused(FILES.map((path) => [path, importOf("#main")] as const))).toEqual(FILES);
});

test("an import of a higher floor is refused", () => {
  const planted = [
    ["commands/a.ts", "#modules/people/users/routes"],
    ["jobs/a.ts", "#commands/serve"],
    ["demo/a.ts", "#modules/people/users/routes"],
    ["modules/people/users/routes.ts", "#modules/people/sessions/routes"],
    ["modules/people/members/routes.ts", "#db/connect"],
    ["modules/issuance/requests/routes/a.ts", "#db/connect"],
    ["modules/people/users/queries.ts", "#guards/signed-in"],
    ["modules/people/members/queries.ts", "elysia"],
    ["modules/people/audit/queries.ts", "./routes"],
    ["modules/people/audit/schema.ts", "./queries"],
    ["modules/fleet/rollouts/queries/a.ts", "../routes"],
    ["modules/fleet/rollouts/rules.ts", "#db/connect"],
    ["modules/fleet/agents/rules/a.ts", "#http/etag"],
    ["modules/fleet/agents/schema.ts", "#deps"],
    ["modules/notifications/inbox/services/a.ts", "#guards/signed-in"],
    ["x509/a.ts", "#db/connect"],
    ["labels/a.ts", "#http/schema"],
    ["log/a.ts", "#db/connect"],
    ["text/a.ts", "#config"],
    ["runtime/a.ts", "#log/log"],
    ["guards/a.ts", "#app"],
    ["auth/a.ts", "#guards/signed-in"],
    ["limits/a.ts", "#guards/signed-in"],
    ["http/a.ts", "#guards/signed-in"],
    ["db/a.ts", "#http/etag"],
    ["db/tables/a.ts", "#modules/people/users/queries"],
    ["storage/a.ts", "#db/connect"],
    ["mail/a.ts", "#modules/people/members/rules"],
    ["outbound/a.ts", "#modules/core/connectors/rules/kinds"],
    ["client/a.ts", "#http/schema"],
    ["cluster/a.ts", "#config"],
    ["crypto/a.ts", "#config"],
    ["catalogue/a.ts", "#http/schema"],
    ["backup/a.ts", "#modules/people/users/queries"],
    ["maintenance/a.ts", "#commands/serve"],
    ["console/a.ts", "#modules/people/users/routes"],
    ["console/app/a.tsx", "#modules/people/users/schema"],
    ["console/app/b.tsx", "#http/etag"],
    ["agent/a.ts", "#db/connect"],
    ["agent/policy/a.ts", "../transaction/journal"],
    ["agent/stores/a.ts", "../state"],
    ["agent/transaction/a.ts", "../stores/stores"],
    ["agent/host/a.ts", "../transaction/journal"],
  ] as const;
  expect(refused(planted.map(([path, given]) => [path, importOf(given)]))).toEqual(planted.map(([path]) => path));
});

test("an import of a lower floor is not, nor one of types alone where the table says so", () => {
  const lower = [
    ["modules/people/users/routes.ts", "#guards/signed-in"],
    ["modules/people/users/queries.ts", "#db/connect"],
    ["modules/fleet/rollouts/queries/a.ts", "../rules"],
    ["modules/core/connections/services/a.ts", "#outbound/http-client"],
    ["agent/stores/a.ts", "../store"],
  ] as const;
  expect(refused(lower.map(([path, given]) => [path, importOf(given)]))).toEqual([]);
  expect(refused([["console/app/a.ts", 'import type { User } from "#modules/people/users/schema";']])).toEqual([]);
});

test("an import counts in whatever form it is written", () => {
  const forms = [
    'import "#app";',
    'import App from "#app";',
    'export { app } from "#app";',
    'export * from "#app";',
    'await import("#app");',
    "await import(`#app`);",
    "await import(name);",
    'require("#app");',
    'import app = require("#app");',
    'type App = import("#app").App;',
    'import type { App } from "#app";',
  ];
  expect(forms.filter((line) => refused([["db/a.ts", line]]).length === 0)).toEqual([]);
});
