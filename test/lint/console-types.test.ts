import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Glob } from "bun";
import { parseSync, Visitor } from "oxc-parser";

setDefaultTimeout(120_000);

const ROOT = resolve(import.meta.dir, "../..");
const APP = resolve(ROOT, "src/console/app");
const FILES = [...new Glob("**/*.{ts,tsx}").scanSync(APP)].sort();

/** The assertions (`as`) that the page needs, and why; of answers there is none besides where they come from. */
const ASSERTIONS: Record<string, [count: number, why: string]> = {
  "api.ts": [6, "here paths get their types, and answers the types of their paths"],
  "parts/choice.tsx": [1, "the name of the search's parameter is chosen, and TypeScript follows no chosen name"],
  "parts/entries.ts": [2, "Object.entries and Object.keys forget the names of an object"],
  "parts/form.tsx": [2, "an element by its name, and attributes by their kind, are the DOM's"],
  "pages/certificates/csv/read.ts": [2, "Papa's types know slices of files alone"],
  "pages/issuance/issuer-fields.ts": [1, "the config of an issuer is any JSON to the API; its rules know more"],
  "reading.ts": [1, "a list is read by its path, page by page"],
};

type Node = { type: string; typeAnnotation?: Node; typeName?: Node & { name?: string } };
type Member = { type: string; key?: { name?: string } };

function visit(file: string, on: ConstructorParameters<typeof Visitor>[0]) {
  new Visitor(on).visit(parseSync(file, readFileSync(resolve(APP, file), "utf8")).program);
}

test("the page asserts no type of an answer: each `as` is counted, with its reason", () => {
  const found: Record<string, number> = {};
  for (const file of FILES) {
    const count = () => {
      found[file] = (found[file] ?? 0) + 1;
    };
    visit(file, {
      TSAsExpression(node) {
        const { type, typeName } = (node as unknown as { typeAnnotation: Node }).typeAnnotation;
        if (type !== "TSTypeReference" || typeName?.name !== "const") count();
      },
      TSTypeAssertion: count,
      TSNonNullExpression: count,
    });
  }
  expect(found).toEqual(Object.fromEntries(Object.entries(ASSERTIONS).map(([file, [count]]) => [file, count])));
});

/** The names of the fields of every object that the API answers with. */
async function fieldsOfAnswers() {
  const answers: Set<string>[] = [];
  const walk = (value: unknown) => {
    if (typeof value !== "object" || value === null) return;
    if ("properties" in value && typeof value.properties === "object" && value.properties !== null) answers.push(new Set(Object.keys(value.properties)));
    Object.values(value).forEach(walk);
  };
  const document = await Bun.$`${process.execPath} src/main.ts openapi`.cwd(ROOT).json();
  for (const methods of Object.values(document.paths))
    for (const { responses } of Object.values(methods as Record<string, { responses: Record<string, unknown> }>))
      for (const [status, answer] of Object.entries(responses)) if (status < "300") walk(answer);
  walk(document.components.schemas);
  return answers;
}

test("no type of the page restates an answer: those come from the path of an operation", async () => {
  const answers = await fieldsOfAnswers();
  expect(answers.length).toBeGreaterThan(100);
  const restated: string[] = [];
  for (const file of FILES) {
    const check = (members: unknown[]) => {
      const names = (members as Member[]).flatMap(({ type, key }) => (type === "TSPropertySignature" && key?.name ? [key.name] : []));
      if (names.length > 2 && answers.some((fields) => names.every((name) => fields.has(name)))) restated.push(`${file}: ${names.join(", ")}`);
    };
    visit(file, { TSTypeLiteral: ({ members }) => check(members), TSInterfaceBody: ({ body }) => check(body) });
  }
  expect(restated).toEqual([]);
});

test("one file takes the operations' types from the client", () => {
  const importing = FILES.filter((file) => readFileSync(resolve(APP, file), "utf8").includes('"#client/app"'));
  expect(importing).toEqual(["operations.ts"]);
});
