/** A team's code on top of orval, and the parts that the compiler must refuse. */
export const ORVAL = `
import {
  type Connection, createConnection, createExampleNotification, createWidget, getConnection, getStreamNotificationsUrl, importCertificates, listCertificates,
  listConnections, updateConnection, uploadDocument,
} from "./orval/certitude";

const options = { headers: asAdmin };

const first = await createConnection(ORGANIZATION, { kind: "github", name: "First", config, secrets }, options);
if (first.status !== 201) throw new Error(JSON.stringify(first.data));
await createConnection(ORGANIZATION, { kind: "github", name: "Second", config, secrets }, options);
const connections: Connection[] = [];
let cursor: string | null = null;
do {
  const page: Awaited<ReturnType<typeof listConnections>> = await listConnections(ORGANIZATION, { limit: 1, ...(cursor !== null && { cursor }) }, options);
  if (page.status !== 200) throw new Error(\`The list was answered \${page.status}.\`);
  connections.push(...page.data.items);
  cursor = page.data.nextCursor;
} while (cursor !== null);

const missing = await getConnection(ORGANIZATION, nowhere, options);
const malformed = await listConnections(ORGANIZATION, { limit: 0 }, options);
const stale = await updateConnection(ORGANIZATION, first.data.id, { name: "Third" }, { headers: { ...asAdmin, "if-match": '"7"' } });
const widget = await createWidget(ORGANIZATION, { kind: "expiring_certificates_timeline", title: "What expires", settings, position }, options);
if (widget.status !== 201) throw new Error(JSON.stringify(widget.data));

await importCertificates(ORGANIZATION, { pem: PEM }, options);
const listed = await listCertificates(ORGANIZATION, { status: "active" }, options);
if (listed.status !== 200) throw new Error(\`The list was answered \${listed.status}.\`);
const [certificate] = listed.data.items;

const file = new File(["Keys rotate yearly."], "keys.txt");
const document = await uploadDocument({ file, title: "Keys", organizationId: ORGANIZATION }, { headers: asStaff });
if (document.status !== 201) throw new Error(JSON.stringify(document.data));

const ending = new AbortController();
await createExampleNotification({ title: "By a generated client" }, options);
const { body } = await fetch(getStreamNotificationsUrl(), { headers: { ...asAdmin, "last-event-id": "0" }, signal: ending.signal });
const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
let seen = "";
while (!seen.includes("By a generated client")) seen += (await reader.read()).value ?? "";
ending.abort();

console.log(
  JSON.stringify({
    names: connections.map(({ name }) => name),
    untested: first.data.lastTest?.outcome ?? null,
    createdAt: new Date(first.data.createdAt).toISOString(),
    missing: [missing.status, missing.status === 404 && missing.data.message],
    malformed: [malformed.status, malformed.status === 400 && malformed.data.message],
    stale: stale.status,
    widget: [widget.data.kind, widget.data.position.width],
    certificate: [certificate?.status satisfies "active" | "expired" | "revoked" | "retired" | undefined, certificate?.revocationReason ?? null],
    document: [document.data.title, document.data.status],
    notice: /"kind"\\s*:\\s*"(\\w+)"/.exec(seen)?.[1],
  }),
);

export function mistakes(connection: Connection) {
  // @ts-expect-error there is no such kind
  createConnection(ORGANIZATION, { kind: "nonsense", name: "x" });
  // @ts-expect-error it needs a name
  createConnection(ORGANIZATION, { kind: "github" });
  // @ts-expect-error it needs an owner, and says nothing of a url
  createConnection(ORGANIZATION, { kind: "github", name: "x", config: { authMethod: "token", url: "https://chat.example" } });
  // @ts-expect-error there is no such status
  listCertificates(ORGANIZATION, { status: "odd" });
  // @ts-expect-error it may be null
  const lastTest: object = connection.lastTest;
  // @ts-expect-error it is no number
  const createdAt: number = connection.createdAt;
}
`;
