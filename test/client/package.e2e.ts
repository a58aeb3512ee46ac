import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { COMPILERS, createProject, ROOT } from "../support/client/project";
import { newApiToken } from "../support/server/api-tokens";
import { newOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);

/** What another team writes, and what the compiler must refuse of it. It names nothing of the DOM, Node or Bun. */
const SCRIPT = `
import { createClient, type Data, events, type Item, items, RefusedError, unwrap } from "certitude/client";

declare const globalThis: { settings: { url: string; token: string; organization: string } };

const { api, organization } = createClient({ ...globalThis.settings, role: "ORG_ADMIN" });
type Connection = Data<ReturnType<typeof organization.core.connections>["get"]>;

export async function main(): Promise<string> {
  const { id } = await unwrap(organization.core.connections.post({ kind: "github", name: "Ours", config: { owner: "us", authMethod: "token" }, secrets: { token: "t" } }));
  const names: string[] = [];
  for await (const connection of items(organization.core.connections.get, { query: { kind: "github" } })) {
    const same: Connection = connection;
    names.push(same.name);
  }
  const { data, error } = await organization.core.connections({ connectionId: id }).patch({ name: "Theirs" }, { headers: { "if-match": '"7"' } });
  if (error) {
    if (error.status === 412) names.push("stale");
    else if (error.status === 429 || error.status === 503 || error.status === 413 || error.status === 415 || error.status === 500) names.push(error.value.message);
    // @ts-expect-error this server never answers it
    else if (error.status === 422) names.push("never");
  } else names.push(data.name);
  const expiring = await unwrap(organization.certs.monitoring["top-expiring"].get());
  const days: number[] = expiring.items.map(({ daysRemaining }) => daysRemaining);
  const refusal = await unwrap(api.users.me.get()).catch((reason: unknown) => reason);
  if (refusal instanceof RefusedError) names.push(String(refusal.status));
  return [...names, days.length].join();
}

type Certificate = Item<typeof organization.certificates.get>;
export const nameOf = ({ commonName }: Certificate): string => commonName;

export async function follow(): Promise<string | undefined> {
  for await (const told of events(api.users.me.notifications.stream.get)) if ("title" in told) return told.title;
}

export function mistakes() {
  // @ts-expect-error it answers once, and is no stream
  events(api.users.me.get);
  // @ts-expect-error there is no such kind
  organization.core.connections.post({ kind: "nonsense", name: "x" });
  // @ts-expect-error there is no such status
  organization.certificates.get({ query: { status: "odd" } });
  // @ts-expect-error there is no such operation
  organization.certificates.put({});
  // @ts-expect-error nothing is any
  nameOf({ commonName: 5 });
}
`;

/** Runs it, with what the environment says. */
const START = (file: string) =>
  `globalThis.settings = { url: process.env.URL, token: process.env.TOKEN, organization: process.env.ORGANIZATION };
const { main } = await import("./${file}");
console.log(await main());
`;

let project: Awaited<ReturnType<typeof createProject>>;
let packed: string[];

beforeAll(async () => {
  project = await createProject();
  const said = await Bun.$`npm pack --ignore-scripts --json --pack-destination ${project.directory}`.cwd(ROOT).quiet();
  const archive = join(project.directory, JSON.parse(said.stdout.toString())[0].filename);
  const target = join(project.directory, "node_modules/certitude");
  mkdirSync(target, { recursive: true });
  await Bun.$`tar -xzf ${archive} --strip-components=1 -C ${target}`.quiet();
  packed = [...new Glob("**").scanSync(target)].toSorted();
  await project.install("@types/node", ...(await project.neededBy("certitude")));
  await project.write("script.ts", SCRIPT);
});
afterAll(() => project[Symbol.dispose]());

test("the package holds the client, its types and the README, and nothing of the server", async () => {
  const types = ["answers", "app", "client", "etags", "events", "fetch", "index", "retry", "send"].map((name) => `dist/client/${name}.d.ts`);
  expect(packed).toEqual(["README.md", ...types, "dist/client/index.js", "package.json"].toSorted());
  expect(await project.neededBy("certitude")).toEqual(["@elysiajs/eden", "elysia"]);
  const outside = new Set<string>();
  for (const path of packed.filter((each) => each.startsWith("dist/"))) {
    const text = await Bun.file(join(project.directory, "node_modules/certitude", path)).text();
    for (const [, name = ""] of text.matchAll(/(?:from|import\()\s*"([^".][^"]*)"/g)) outside.add(name);
  }
  expect([...outside].toSorted()).toEqual(["@elysiajs/eden", "elysia"]);
});

describe.each(COMPILERS)("%s compiles what uses it", (compiler) => {
  test.each([
    ["bundler", "ESNext"],
    ["nodenext", "NodeNext"],
  ])("under %s, with the types of the DOM, and with Node's alone", async (moduleResolution, module) => {
    const how = { moduleResolution, module, skipLibCheck: true };
    expect(await project.compile(compiler, "script.ts", { ...how, lib: ["ES2023", "DOM", "DOM.Iterable"] })).toBe("");
    expect(await project.compile(compiler, "script.ts", { ...how, lib: ["ES2023"], types: ["node"] })).toBe("");
  });

  test("finds what is wrong: it is not compiled as any", async () => {
    await project.write("wrong.ts", SCRIPT.replaceAll("@ts-expect-error", ""));
    const said = await project.compile(compiler, "wrong.ts", { moduleResolution: "nodenext", module: "NodeNext", skipLibCheck: true, lib: ["ES2023", "DOM"] });
    expect(said.match(/^wrong\.ts\(\d+,\d+\): error TS\d+/gm)).toHaveLength(6);
  });

  test("finds nothing wrong in its declarations, whatever it finds in those of its libraries", async () => {
    const said = await project.compile(compiler, "script.ts", { moduleResolution: "nodenext", module: "NodeNext", lib: ["ES2023", "DOM", "DOM.Iterable"] });
    expect(said).not.toContain("certitude/");
  });
});

test.each(["node", "bun"])("%s runs what uses it, against a server", async (program) => {
  const organization = await newOrganization();
  const { token } = await newApiToken(organization);
  const how = { moduleResolution: "nodenext", module: "NodeNext", skipLibCheck: true, lib: ["ES2023"], types: ["node"] };
  expect(await project.compile("typescript", "script.ts", how, "out")).toBe("");
  const file = program === "node" ? "out/script.js" : "script.ts";
  await project.write(`${program}.mjs`, START(file));
  const ran = await project.run(`${program} ${program}.mjs`, { URL: world.url, TOKEN: token, ORGANIZATION: organization.id });
  expect(ran).toEqual({ exitCode: 0, output: "Ours,stale,401,0\n", errors: "" });
});
