import { controlsOf, type FrameworkKey } from "#modules/governance/frameworks/rules/catalogue";
import type { TestOrganization } from "../../../support/server/people";

/** The control at a position of a framework's list, and where it is. */
export function control(framework: FrameworkKey = "euaiact", index = 0) {
  const found = controlsOf(framework)[index];
  if (!found) throw new Error(`${framework} has no control ${index}`);
  return { ...found, path: `/ai-governance/frameworks/${framework}/controls/${found.id}` };
}

export const change = (organization: TestOrganization, path: string, body: unknown, headers: Record<string, string> = {}) =>
  organization.admin("PATCH", path, { body, headers });

export const auditOf = async (organization: TestOrganization) => (await organization.admin("GET", "/audit-events?limit=100")).body.items;
