import { afterAll, beforeAll } from "bun:test";
import { prepareJobs, runQueuedJobs } from "#jobs/start";
import { JOBS } from "#jobs/table";
import { INDEX_DOCUMENT } from "#modules/knowledge/documents/queries/indexing";
import { grantPlatformAdmin } from "#modules/people/users/queries";
import { call, type Wish } from "./call";
import { newOrganization, newUser } from "./people";
import { WORKER_KEY, world } from "./world";

export const DOCUMENTS = "/admin/knowledge-base/documents";

/** A user of the platform's staff; calls carry the staff headers. */
export async function newStaff() {
  const user = await newUser();
  await user.call("GET", "/users/me");
  await grantPlatformAdmin(world.sql, world.deps.stamps, user.id, true);
  const staff = (method: string, path: string, wish: Wish = {}) => user.call(method, path, { ...wish, headers: { "x-user-id": user.id, ...wish.headers } });
  return { ...user, call: staff };
}
export type Staff = Awaited<ReturnType<typeof newStaff>>;

/** Documents are indexed while the tests of this file run. */
export function withJobs() {
  beforeAll(() => startJobs());
  afterAll(() => world.deps.queue.stop());
}

/** Their work alone, not all that the tests of other files have left to do. */
const INDEXING = JOBS.filter(({ name }) => name.startsWith(INDEX_DOCUMENT));

/** Its requests go to the application, or over the network to `server`. */
export async function startJobs(server?: typeof world.server) {
  await prepareJobs(world.deps);
  await runQueuedJobs(world.deps, server ? (request) => fetch(new URL(new URL(request.url).pathname, server.url), request) : world.app.handle, INDEXING);
}

/** A form, as a browser sends it. */
export async function form(fields: Record<string, string | File>): Promise<Wish> {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.set(name, value);
  const sent = new Response(data);
  const headers = { "content-type": sent.headers.get("content-type") ?? "" };
  return { headers, raw: new Uint8Array(await sent.arrayBuffer()) };
}

type Wanted = { text?: string; fileName?: string; title?: string };

/** Uploads a document; its indexing is left to the workers. */
export async function upload(
  staff: Staff,
  organizationId: string,
  { text = "# Keys\n\nKeys rotate yearly.", fileName = "keys.md", title = "Keys" }: Wanted = {},
) {
  const { status, body } = await staff.call("POST", DOCUMENTS, await form({ file: new File([text], fileName), title, organizationId }));
  if (status !== 201) throw new Error(`the upload answered ${status}: ${JSON.stringify(body)}`);
  return body as { id: string; status: string; version: number };
}

/** The document once no job is under way. */
export async function settled(staff: Staff, id: string) {
  for (;;) {
    const { body } = await staff.call("GET", `${DOCUMENTS}/${id}`);
    if (body.status === "ready" || body.status === "failed") return body;
    await Bun.sleep(20);
  }
}

/** Staff, an organization and an indexed document of it. */
export async function withDocument(wanted: Wanted = {}) {
  const [staff, organization] = await Promise.all([newStaff(), newOrganization()]);
  const { id } = await upload(staff, organization.id, wanted);
  await settled(staff, id);
  const search = async (q: string) => (await organization.member("GET", `/knowledge/search?q=${encodeURIComponent(q)}`)).body.items;
  return { staff, organization, id, path: `${DOCUMENTS}/${id}`, search };
}

/** Saves chunks as a worker does. */
export const saveChunks = (id: string, body: unknown, token = WORKER_KEY) => call("POST", `/internal/knowledge/documents/${id}/chunks`, { body, token });

export const actionsOf = async (organization: Awaited<ReturnType<typeof newOrganization>>) =>
  (await organization.admin("GET", "/audit-events?limit=100")).body.items as {
    action: string;
    targetId: string;
    actor: { type: string; id?: string };
    details: object;
  }[];
