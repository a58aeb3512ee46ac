import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Glob } from "bun";
import { parseSync, Visitor } from "oxc-parser";
import { operations } from "../openapi/document";

const ROOT = resolve(import.meta.dir, "../../..");

export type Pattern = { source: string; flags: string; where: string };
type RegExpLiteral = { regex: { pattern: string; flags: string } };

/** Every regular expression that the sources write down, and the files that put others together, by `new RegExp`. */
export function readPatterns() {
  const literals = new Map<string, Pattern>();
  const built: string[] = [];
  for (const where of new Glob("src/**/*.ts").scanSync(ROOT)) {
    const text = readFileSync(resolve(ROOT, where), "utf8");
    new Visitor({
      Literal(node) {
        if (!("regex" in node)) return;
        const { pattern: source, flags } = (node as RegExpLiteral).regex;
        const name = `/${source}/${flags}`;
        literals.set(name, { source, flags, where: [literals.get(name)?.where, where].filter((each) => each).join(", ") });
      },
      NewExpression: ({ callee }) => {
        if (callee.type === "Identifier" && callee.name === "RegExp") built.push(where);
      },
    }).visit(parseSync(where, text).program);
  }
  return { literals: [...literals.values()], built };
}

/** Every `pattern` that a request is held against. */
export function readSchemaPatterns(): Pattern[] {
  const found = new Map<string, Pattern>();
  for (const operation of operations) {
    JSON.stringify(operation, (key, value) => {
      if (key === "pattern" && typeof value === "string") found.set(value, { source: value, flags: "u", where: operation.id });
      return value;
    });
  }
  return [...found.values()];
}
