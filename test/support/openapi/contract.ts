import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import { world } from "../server/world";

type Responses = Record<string, { $ref?: string; content?: Record<string, { schema: object }> }>;
type Document = { paths: Record<string, Record<string, { responses: Responses }>>; components: { responses: Responses } };

const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true }));
const document = (await (await fetch(`${world.url}/swagger/json`)).json()) as Document;
ajv.addSchema(document, "document");
const templates = Object.keys(document.paths).map((template) => ({ template, pattern: new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`) }));
const validators = new Map<string, ValidateFunction>();

/** A key as a part of a JSON Pointer in a URI. */
const asPart = (key: string) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));

type Answer = { status: number; type: string | undefined; body: unknown };

/**
 * Throws unless the published document names this status for this operation, and describes this body or, of one that is no
 * JSON, names its type.
 */
export function checkContract(method: string, path: string, { status, type, body }: Answer) {
  const template = templates.find(({ pattern }) => pattern.test(path))?.template;
  const operation = template && document.paths[template]?.[method.toLowerCase()];
  if (!operation) return;
  const documented = operation.responses[status];
  if (!documented) throw new Error(`${method} ${template} answered ${status}, which its document does not name`);
  const response = documented.$ref ? document.components.responses[documented.$ref.split("/").at(-1) ?? ""] : documented;
  if (!response?.content?.["application/json"]?.schema) {
    if (type && response?.content?.[type]) return;
    if (body !== "") throw new Error(`${method} ${template} answered ${status} with a body, and its document names none: ${JSON.stringify(body)}`);
    return;
  }
  const key = `${method} ${template} ${status}`;
  const pointer = documented.$ref ?? `#/paths/${asPart(template)}/${method.toLowerCase()}/responses/${status}`;
  const validate = validators.get(key) ?? ajv.compile({ $ref: `document${pointer}/content/application~1json/schema` });
  validators.set(key, validate);
  if (!validate(body)) throw new Error(`${key}: the body is not as documented: ${ajv.errorsText(validate.errors)}`);
}
