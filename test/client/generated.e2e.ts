import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { HEY_API } from "../support/client/generated/hey-api";
import { OPENAPI_FETCH } from "../support/client/generated/openapi-fetch";
import { ORVAL } from "../support/client/generated/orval";
import { SETTINGS } from "../support/client/generated/settings";
import { COMPILERS, createProject, ROOT } from "../support/client/project";
import { certificate } from "../support/pki/certificates";
import { newStaff, withJobs } from "../support/server/knowledge";
import { newOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);

/** Of each generator: its script, and what its own runtime, no matter the document, does not compile under. */
const GENERATORS = [
  { name: "openapi-typescript", script: OPENAPI_FETCH, unable: {} },
  { name: "@hey-api/openapi-ts", script: HEY_API, unable: { exactOptionalPropertyTypes: false } },
  { name: "orval", script: ORVAL, unable: {} },
];
const fileOf = (name: string) => `${name.split("/").at(-1)}.ts`;

/** As users have it who let a bundler, or Bun, run it. */
const HOW = { moduleResolution: "bundler", module: "ESNext", lib: ["ES2023", "DOM", "DOM.Iterable"] };

/** What the README says that users do: commands, and a file of settings. */
const README = await Bun.file(join(ROOT, "src/client/README.md")).text();
const guide = README.slice(README.indexOf("## Other generators")).replaceAll("https://certitude.example", world.url);
const commands = [...guide.matchAll(/^npx .+?(?=\s+#|$)/gm)].map(String);
const orvalConfig = /```js\n(.+?)```/s.exec(guide)?.[1] ?? "";

withJobs(); // an uploaded document waits for one

let project: Awaited<ReturnType<typeof createProject>>;
beforeAll(async () => {
  project = await createProject();
  await project.install("openapi-fetch", ...GENERATORS.map(({ name }) => name));
  await project.installAs("typescript", "typescript-5.9"); // version 7 has no programming interface yet
  await project.write("orval.config.js", orvalConfig);
  const generated = await Promise.all(commands.map((command) => project.run(command)));
  for (const { exitCode, output, errors } of generated) if (exitCode !== 0) throw new Error(output + errors);
  for (const { name, script } of GENERATORS) await project.write(fileOf(name), SETTINGS + script);
});
afterAll(() => project[Symbol.dispose]());

describe.each(GENERATORS)("what $name makes of the document", ({ name, unable }) => {
  test.each(COMPILERS)("%s compiles it strictly, and finds each mistake: it is not compiled as any", async (compiler) => {
    expect(await project.compile(compiler, fileOf(name), { ...HOW, ...unable })).toBe("");
  });

  test("runs against a server", async () => {
    const [organization, staff] = await Promise.all([newOrganization(), newStaff()]);
    const { token } = await organization.join();
    const people = { ORGANIZATION: organization.id, TOKEN: token, STAFF: staff.id, STAFF_TOKEN: staff.token };
    const { output, errors, exitCode } = await project.run(`bun ${fileOf(name)}`, { SERVER: world.url, PEM: certificate().pem, ...people });
    expect({ errors, exitCode }).toEqual({ errors: "", exitCode: 0 });
    expect(JSON.parse(output)).toEqual({
      names: ["Second", "First"],
      untested: null,
      createdAt: expect.stringMatching(/Z$/),
      missing: [404, "There is no such connection in this organization."],
      malformed: [400, "query.limit must be a whole number from 1 to 100."],
      stale: 412,
      widget: ["expiring_certificates_timeline", 6],
      certificate: ["active", null],
      document: ["Keys", "uploaded"],
      notice: "certificate_expiring",
    });
  });
});

test("@hey-api/openapi-ts: under exactOptionalPropertyTypes only its own runtime does not compile", async () => {
  const said = await project.compile("typescript", fileOf("@hey-api/openapi-ts"), HOW);
  const files = said.match(/^\S+(?=\(\d+,\d+\): error)/gm) ?? [];
  expect(new Set(files.map((file) => file.split("/").slice(0, 2).join("/")))).toEqual(new Set(["hey-api/client", "hey-api/core"]));
});
