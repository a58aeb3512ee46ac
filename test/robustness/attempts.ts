import fc, { type Arbitrary } from "fast-check";
import { fillPath, type Operation, type Schema } from "../support/openapi/document";
import type { PopulatedOrganization } from "../support/server/populated-organization";
import { junkHeaders, junkJson, junkQuery, junkSegment } from "./chance";
import { FORM_TYPE, forms } from "./forms";
import { nearlyJson } from "./junk";
import { addMember, type Place, placesIn, plant, valuesOf } from "./shapes";

/** What a request to one operation is made of, as text that a failure can show. */
export type Attempt = { path: string; query: string; headers: Record<string, string>; type: string; raw: string | undefined; withToken: boolean };

const MEMBERS = [
  '"nonsense":1',
  '"__proto__":{"admin":true}',
  '"constructor":null',
  '"":0',
  '"\\u0000":"x"',
  '"id":5',
  '"organizationId":"x"',
  '"toString":{}',
];
const BROKEN = ["", " ", "{", '{"a":}', "[1,]", "nul", "\ufeff{}", '{"a":1}x', "\0", "NaN", "'a'"];

/** Requests to the operation: its example or an odd but allowed body, and one thing about it wrong, or nothing. */
export function attemptsAt(operation: Operation, everything: PopulatedOrganization, more: unknown[] = []): Arbitrary<Attempt> {
  const path = fc.constant(everything.pathOf(operation));
  const junkPath = fc.array(fc.option(junkSegment), { minLength: 4, maxLength: 4 }).map((junk) => {
    const segments = [...junk];
    return fillPath(operation.path, (name) => (name === "organizationId" ? everything.organization.id : (segments.pop() ?? everything.ids[name] ?? "x")));
  });
  const hasIds = fillPath(operation.path, (name) => (name === "organizationId" ? "" : "?")).includes("?");
  const queries = operation.parameters.filter((each) => each.in === "query");
  const goodQuery = goodQueries(queries, everything);
  const junk = fc.tuple(junkQuery(queries), goodQuery).map((both) => both.join("&"));
  const isForm = operation.body?.type === "multipart/form-data";
  const type = fc.constant(isForm ? FORM_TYPE : "application/json");
  const raw: Arbitrary<string | undefined> = operation.body
    ? isForm
      ? forms(everything.bodyOf(operation) as Record<string, string>)
      : bodies(operation, everything, more)
    : fc.constant(undefined);
  const none = fc.constant({});
  const withToken = fc.boolean();
  const attempt = (parts: { path?: Arbitrary<string>; query?: Arbitrary<string>; headers?: Arbitrary<Record<string, string>>; raw?: typeof raw }) =>
    fc.record({ path, query: goodQuery, headers: none, type, raw, withToken, ...parts });
  const intact = operation.body && !isForm ? fc.constant(JSON.stringify(everything.bodyOf(operation))) : raw;
  return fc.oneof(
    { weight: operation.body ? 6 : 1, arbitrary: attempt({}) },
    { weight: hasIds ? 2 : 0, arbitrary: attempt({ path: junkPath, raw: intact }) },
    { weight: queries.length > 0 ? 4 : 1, arbitrary: attempt({ query: fc.oneof(junkQuery(queries), junk), raw: intact }) },
    { weight: 1, arbitrary: attempt({ headers: junkHeaders, raw: intact }) },
    { weight: operation.body ? 0 : 1, arbitrary: attempt({ raw: operation.method === "GET" ? raw : fc.oneof(junkJson, fc.constantFrom(...BROKEN)) }) },
  );
}

/** Mostly what the organization has, else anything that is allowed; often nothing but what is required. */
function goodQueries(parameters: Operation["parameters"], { ids }: PopulatedOrganization) {
  const write = (parameter: Operation["parameters"][number]) => {
    const { name, schema } = parameter;
    const known = ids[name];
    const value = known === undefined ? valuesOf(schema) : fc.oneof({ weight: 3, arbitrary: fc.constant<unknown>(known) }, valuesOf(schema));
    return [name, value.map((each) => `${name}=${encodeURIComponent(String(each).toWellFormed())}`)] as const;
  };
  const required = parameters.filter((each) => each.required);
  const optional = parameters.filter((each) => !each.required && each.name !== "cursor");
  const some = (from: typeof parameters) =>
    fc.record(Object.fromEntries(from.map(write)), { requiredKeys: required.map((each) => each.name), noNullPrototype: true });
  return fc.oneof(some(required), some([...required, ...optional])).map((query) => Object.values(query).join("&"));
}

function bodies({ body }: Operation, everything: PopulatedOrganization, more: unknown[]): Arbitrary<string> {
  const schema = body?.schema as Schema;
  const examples = [everything.adopt(body?.example), ...more.map((each) => everything.adopt(each))];
  const allowed = valuesOf(schema).map((value) => everything.adopt(value));
  const base = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...examples) }, { weight: 1, arbitrary: allowed });
  return fc.oneof(
    { weight: 3, arbitrary: allowed.map((value) => JSON.stringify(value)) },
    { weight: 8, arbitrary: base.chain((value) => somewhere(value, schema).chain((place) => spoiled(value, place))) },
    { weight: 1, arbitrary: fc.constantFrom(...BROKEN) },
  );
}

const somewhere = (value: unknown, schema: Schema) => fc.constantFrom(...placesIn(value, schema));

/** `value` with one place of it as nobody should send it. */
function spoiled(value: unknown, place: Place): Arbitrary<string> {
  const junk = fc.oneof(junkJson, fc.constantFrom(...nearlyJson(place.schema)));
  const replaced = junk.map((raw) => plant(value, place.steps, raw));
  if (place.value === null || typeof place.value !== "object" || Array.isArray(place.value)) return replaced;
  const [key = "a"] = Object.keys(place.value);
  const added = fc.tuple(fc.constantFrom(...MEMBERS), fc.boolean()).map(([member, first]) => addMember(value, place, member, first));
  const twice = fc.tuple(junkJson, fc.boolean()).map(([raw, first]) => addMember(value, place, `${JSON.stringify(key)}:${raw}`, first));
  return fc.oneof({ weight: 2, arbitrary: replaced }, added, twice);
}
