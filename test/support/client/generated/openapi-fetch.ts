/** A team's code on top of openapi-typescript, and the parts that the compiler must refuse. */
export const OPENAPI_FETCH = `
import createClient from "openapi-fetch";
import type { components, paths } from "./openapi-typescript/certitude";

const client = createClient<paths>({ baseUrl: SERVER, headers: asAdmin });
const path = { organizationId: ORGANIZATION };
const CONNECTIONS = "/organizations/{organizationId}/core/connections";

function must<Data>({ data, error }: { data?: Data; error?: unknown }): Data {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const first = must(await client.POST(CONNECTIONS, { params: { path }, body: { kind: "github", name: "First", config, secrets } }));
await client.POST(CONNECTIONS, { params: { path }, body: { kind: "github", name: "Second", config, secrets } });
const names: string[] = [];
let cursor: string | null = null;
do {
  const page: { items: components["schemas"]["Connection"][]; nextCursor: string | null } = must(
    await client.GET(CONNECTIONS, { params: { path, query: { limit: 1, ...(cursor !== null && { cursor }) } } }),
  );
  names.push(...page.items.map(({ name }) => name));
  cursor = page.nextCursor;
} while (cursor !== null);

const missing = await client.GET("/organizations/{organizationId}/core/connections/{connectionId}", { params: { path: { ...path, connectionId: nowhere } } });
const malformed = await client.GET(CONNECTIONS, { params: { path, query: { limit: 0 } } });
const stale = await client.PATCH("/organizations/{organizationId}/core/connections/{connectionId}", {
  params: { path: { ...path, connectionId: first.id }, header: { "If-Match": '"7"' } },
  body: { name: "Third" },
});
const widget = must(
  await client.POST("/organizations/{organizationId}/core/widgets", {
    params: { path },
    body: { kind: "expiring_certificates_timeline", title: "What expires", settings, position },
  }),
);

await client.POST("/organizations/{organizationId}/certificates", { params: { path }, body: { pem: PEM } });
const listed = must(await client.GET("/organizations/{organizationId}/certificates", { params: { path, query: { status: "active" } } }));
const [certificate] = listed.items;

const document = must(
  await client.POST("/admin/knowledge-base/documents", {
    headers: asStaff,
    body: { file: "Keys rotate yearly.", title: "Keys", organizationId: ORGANIZATION },
    bodySerializer({ file, ...fields }) {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      form.set("file", new Blob([file]), "keys.txt");
      return form;
    },
  }),
);

const ending = new AbortController();
await client.POST("/users/me/notifications/examples", { body: { title: "By a generated client" } });
const fromTheFirst = { params: { header: { "last-event-id": "0" } } };
const stream = must(await client.GET("/users/me/notifications/stream", { ...fromTheFirst, parseAs: "stream", signal: ending.signal }));
const reader = stream!.pipeThrough(new TextDecoderStream()).getReader();
let seen = "";
while (!seen.includes("By a generated client")) seen += (await reader.read()).value ?? "";
ending.abort();

console.log(
  JSON.stringify({
    names,
    untested: first.lastTest?.outcome ?? null,
    createdAt: new Date(first.createdAt).toISOString(),
    missing: [missing.response.status, missing.error?.message],
    malformed: [malformed.response.status, malformed.error?.message],
    stale: stale.response.status,
    widget: [widget.kind, widget.position.width],
    certificate: [certificate?.status satisfies "active" | "expired" | "revoked" | "retired" | undefined, certificate?.revocationReason ?? null],
    document: [document.title, document.status],
    notice: /"kind"\\s*:\\s*"(\\w+)"/.exec(seen)?.[1],
  }),
);

export function mistakes() {
  // @ts-expect-error there is no such kind
  client.POST(CONNECTIONS, { params: { path }, body: { kind: "nonsense", name: "x" } });
  // @ts-expect-error it needs a name
  client.POST(CONNECTIONS, { params: { path }, body: { kind: "github" } });
  // @ts-expect-error it needs an owner, and says nothing of a url
  client.POST(CONNECTIONS, { params: { path }, body: { kind: "github", name: "x", config: { authMethod: "token", url: "https://chat.example" } } });
  // @ts-expect-error there is no such status
  client.GET("/organizations/{organizationId}/certificates", { params: { path, query: { status: "odd" } } });
  // @ts-expect-error it may be null
  const lastTest: object = first.lastTest;
  // @ts-expect-error it is no number
  const createdAt: number = first.createdAt;
}
`;
