import type { TestOrganization } from "./people";

const PATH = "/core/widgets";

/** Puts a widget on a dashboard, and answers what was made. */
export async function addWidget(organization: TestOrganization, kind: string, settings: object = {}, rest: object = {}) {
  const answer = await organization.admin("POST", PATH, { body: { kind, title: "A widget", settings, ...rest } });
  if (answer.status !== 201) throw new Error(`the widget was answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

/** Returns the data of a new widget of the kind in the organization. */
export async function show(organization: TestOrganization, kind: string, settings: object = {}) {
  const { id } = await addWidget(organization, kind, settings, { dashboard: `d-${crypto.randomUUID()}` });
  const answer = await organization.member("GET", `${PATH}/${id}/data`);
  if (answer.status !== 200 || answer.body.kind !== kind) throw new Error(`its data was answered ${answer.status}: ${answer.text}`);
  return answer.body.data;
}
