import type { TestOrganization } from "./people";

export const API_TOKENS = "/api-tokens";

/** An API token of the organization, made over the API by a trusted gateway. */
export async function newApiToken(organization: TestOrganization, { role = "ORG_ADMIN", expiresAt }: { role?: string; expiresAt?: string } = {}) {
  const body = { name: "Pipeline", role, ...(expiresAt && { expiresAt }) };
  const answer = await organization.admin("POST", API_TOKENS, { body });
  if (answer.status !== 201) throw new Error(`making an API token was answered ${answer.status}: ${answer.text}`);
  return answer.body as { id: string; token: string };
}
