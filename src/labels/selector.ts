import { isLabelKey, KEY_FORM, MAX_VALUE } from "./labels";

export type Requirement = { key: string; operator: "in" | "notin" | "exists" | "absent"; values: string[] };

const MAX_REQUIREMENTS = 50;

/** Says what is wrong, as the second half of a sentence. */
class SelectorFault extends Error {}

/**
 * Compiles a selector in Kubernetes' grammar (`env=prod,tier!=edge,zone in (a,b),region notin (x),has,!absent`) to a jsonpath
 * predicate. `!=` and `notin` also find agents without the label.
 */
export function compileSelector(selector: string): { path: string; requirements: Requirement[] } | { fault: string } {
  try {
    const requirements = parse(selector);
    return { path: requirements.map(toPredicate).join(" && "), requirements };
  } catch (error) {
    if (error instanceof SelectorFault) return { fault: error.message };
    throw error;
  }
}

function toPredicate({ key, operator, values }: Requirement) {
  const label = `$.${JSON.stringify(key)}`;
  const isOneOf = `(${values.map((value) => `${label} == ${JSON.stringify(value)}`).join(" || ")})`;
  return { in: isOneOf, notin: `!${isOneOf}`, exists: `exists(${label})`, absent: `!exists(${label})` }[operator];
}

function parse(selector: string) {
  const tokens = [...selector.matchAll(/[^\s=!(),<>]+|==|!=|\S/g)].map(({ 0: text, index }) => ({ text, at: index + 1 }));
  let position = 0;

  function accept(text: string) {
    const isNext = tokens[position]?.text === text;
    if (isNext) position++;
    return isNext;
  }

  function fail(expected: string): never {
    const token = tokens[position];
    const found = token ? `"${token.text}" is at character ${token.at}` : "it ends";
    throw new SelectorFault(`cannot be read: ${found} where ${expected} should be. A selector looks like env=prod,tier!=edge,zone in (a,b),has,!absent`);
  }

  function word(what: string) {
    const text = tokens[position]?.text ?? "";
    if (!/^[^=!(),<>]/.test(text)) fail(what);
    position++;
    return text;
  }

  function key() {
    const text = word("a key");
    if (!isLabelKey(text)) throw new SelectorFault(`names the key "${text.slice(0, 100)}", but ${KEY_FORM}`);
    return text;
  }

  function value() {
    const text = word("a value");
    if ([...text].length > MAX_VALUE) throw new SelectorFault(`names a value of over ${MAX_VALUE} characters, which no label has`);
    return text;
  }

  function list() {
    if (!accept("(")) fail('"("');
    const values = [value()];
    while (accept(",")) values.push(value());
    if (!accept(")")) fail('a comma or ")"');
    return values;
  }

  function requirement(): Requirement {
    if (accept("!")) return { key: key(), operator: "absent", values: [] };
    const name = key();
    if (accept("=") || accept("==")) return { key: name, operator: "in", values: [value()] };
    if (accept("!=")) return { key: name, operator: "notin", values: [value()] };
    if (accept("in")) return { key: name, operator: "in", values: list() };
    if (accept("notin")) return { key: name, operator: "notin", values: list() };
    return { key: name, operator: "exists", values: [] };
  }

  const requirements = [requirement()];
  while (accept(",")) requirements.push(requirement());
  if (position < tokens.length) fail("a comma or the end");
  if (requirements.length > MAX_REQUIREMENTS) throw new SelectorFault(`has more than ${MAX_REQUIREMENTS} requirements`);
  return requirements;
}
