import type { Json } from "./json";

type ObjectSchema = Json & { properties?: Record<string, Json>; required?: string[] };
/** A kind with the schemas of its own fields by their names, such as `config`. */
export type OneKind = Json & { kind: string; displayName: string; note?: string | null; example: unknown };

/** Returns a body for each of `kinds`, by kind: as `body`, but its fields are the kind's own where the kind has some of that name. */
export function bodiesByKind({ title, properties = {}, required = [] }: ObjectSchema, kinds: OneKind[]) {
  const toBody = ({ kind, displayName, note, example, ...own }: OneKind) => {
    const ofKind = (name: string, field: Json) => (own[name] ? { ...(own[name] as ObjectSchema), description: field.description } : field);
    const needed = Object.keys(properties).filter((name) => (own[name] as ObjectSchema | undefined)?.required);
    const fields = Object.entries(properties).map(([name, field]) => [name, ofKind(name, field)] as const);
    return {
      title: String(title).replace("New", `New${toPascal(kind)}`),
      description: [displayName, note].filter(Boolean).join(". "),
      type: "object",
      properties: { ...Object.fromEntries(fields), kind: { ...properties.kind, anyOf: undefined, examples: undefined, type: "string", enum: [kind] } },
      required: [...new Set([...required, ...needed])],
      additionalProperties: false,
      examples: [example],
    };
  };
  return kinds.map((each) => [each.kind, toBody(each)] as const);
}

/** "aws_acm" → "AwsAcm" */
const toPascal = (kind: string) => kind.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
