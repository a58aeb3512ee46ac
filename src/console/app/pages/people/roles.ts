import type { Role } from "../../auth/session";
import type { Field } from "../../parts/fields";

export const ROLES: Record<Role, string> = { ORG_ADMIN: "Administrator", ORG_MEMBER: "Member" };
export const ROLE: Field = { name: "role", label: "Role", kind: "select", required: true, options: Object.keys(ROLES), labels: ROLES };
