/** A team's code on top of @hey-api/openapi-ts, and the parts that the compiler must refuse. */
export const HEY_API = `
import {
  type Connection, createConnection, createExampleNotification, createWidget, getConnection, type GetConnectionErrors, importCertificates, listCertificates,
  listConnections, type ListConnectionsErrors, streamNotifications, updateConnection, uploadDocument,
} from "./hey-api";
import { client } from "./hey-api/client.gen";

client.setConfig({ baseUrl: SERVER, headers: asAdmin });
const path = { organizationId: ORGANIZATION };

const { data: first } = await createConnection({ path, body: { kind: "github", name: "First", config, secrets }, throwOnError: true });
await createConnection({ path, body: { kind: "github", name: "Second", config, secrets }, throwOnError: true });
const connections: Connection[] = [];
let cursor: string | null = null;
do {
  const page: { items: Connection[]; nextCursor: string | null } = (
    await listConnections({ path, query: { limit: 1, ...(cursor !== null && { cursor }) }, throwOnError: true })
  ).data;
  connections.push(...page.items);
  cursor = page.nextCursor;
} while (cursor !== null);

const missing = await getConnection({ path: { ...path, connectionId: nowhere } });
const malformed = await listConnections({ path, query: { limit: 0 } });
const stale = await updateConnection({ path: { ...path, connectionId: first.id }, headers: { "If-Match": '"7"' }, body: { name: "Third" } });
const { data: widget } = await createWidget({
  path,
  body: { kind: "expiring_certificates_timeline", title: "What expires", settings, position },
  throwOnError: true,
});

await importCertificates({ path, body: { pem: PEM }, throwOnError: true });
const { data: listed } = await listCertificates({ path, query: { status: "active" }, throwOnError: true });
const [certificate] = listed.items;

const file = new File(["Keys rotate yearly."], "keys.txt");
const { data: document } = await uploadDocument({ headers: asStaff, body: { file, title: "Keys", organizationId: ORGANIZATION }, throwOnError: true });

const ending = new AbortController();
await createExampleNotification({ body: { title: "By a generated client" }, throwOnError: true });
const { stream } = await streamNotifications({ headers: { "last-event-id": "0" }, signal: ending.signal });
let notice: string | undefined;
for await (const event of stream) {
  if (!("title" in event) || event.title !== "By a generated client") continue;
  notice = event.kind;
  break;
}
ending.abort();

console.log(
  JSON.stringify({
    names: connections.map(({ name }) => name),
    untested: first.lastTest?.outcome ?? null,
    createdAt: new Date(first.createdAt).toISOString(),
    missing: [missing.response?.status, (missing.error as GetConnectionErrors[404]).message],
    malformed: [malformed.response?.status, (malformed.error as ListConnectionsErrors[400]).message],
    stale: stale.response?.status,
    widget: [widget.kind, widget.position.width],
    certificate: [certificate?.status satisfies "active" | "expired" | "revoked" | "retired" | undefined, certificate?.revocationReason ?? null],
    document: [document.title, document.status],
    notice,
  }),
);

export function mistakes() {
  // @ts-expect-error there is no such kind
  createConnection({ path, body: { kind: "nonsense", name: "x" } });
  // @ts-expect-error it needs a name
  createConnection({ path, body: { kind: "github" } });
  // @ts-expect-error it needs an owner, and says nothing of a url
  createConnection({ path, body: { kind: "github", name: "x", config: { authMethod: "token", url: "https://chat.example" } } });
  // @ts-expect-error there is no such status
  listCertificates({ path, query: { status: "odd" } });
  // @ts-expect-error it may be null
  const lastTest: object = first.lastTest;
  // @ts-expect-error it is no number
  const createdAt: number = first.createdAt;
}
`;
