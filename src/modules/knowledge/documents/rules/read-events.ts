import type { Act } from "#modules/people/audit/queries";
import type { Occurrence } from "#modules/people/audit/services/counted-events";

/** Returns the platform's audit event for staff who read a document of an organization. */
export const documentRead = (by: Act, part: "document" | "chunks", id: string, organizationId: string): Occurrence => ({
  ...by,
  organizationId: undefined,
  action: "document.read",
  targetType: "document",
  targetId: id.toLowerCase(),
  details: { organizationId, part },
});

/** The same of a list, of one organization or of all. */
export const documentsListed = (by: Act, organizationId = "all"): Occurrence => ({
  ...by,
  organizationId: undefined,
  action: "document.listed",
  targetType: "organization",
  targetId: organizationId.toLowerCase(),
  details: {},
});
