import type { Stamps } from "#crypto/stamps";
import type { Pool } from "#db/connect";
import { createApiToken } from "#modules/people/api-tokens/queries";
import { addPlatformEvent, type PlatformEvent } from "#modules/people/audit/queries";
import { addAdmin } from "#modules/people/members/queries/members";
import { createOrganization, createOrganizationLookup } from "#modules/people/organizations/queries";
import { grantPlatformAdmin, saveUser } from "#modules/people/users/queries";
import type { Report } from "./socket";

type Services = { sql: Pool; stamps: Stamps };
const BY = { actor: { type: "command-line" as const }, requestId: null };

type NewOrganization = { name: string; seatLimit: number | null; adminUser: string; adminEmail: string };
type NewApiToken = { organizationId: string; name: string; role: "ORG_ADMIN" | "ORG_MEMBER"; tokenHash: string; expiresAt?: string };
type NewStaff = { userId: string; email: string | null; event: PlatformEvent };

/** Makes a user a platform admin, who need not have signed in before. */
async function grant({ sql, stamps }: Services, { userId }: { userId: string }, report: Report) {
  await saveUser(sql, { userId, email: null, name: null });
  await grantPlatformAdmin(sql, stamps, userId, true);
  report(`${userId} is a platform admin.`);
}

async function revoke({ sql, stamps }: Services, { userId }: { userId: string }, report: Report) {
  if (!(await grantPlatformAdmin(sql, stamps, userId, false))) throw new Error(`There is no user ${userId}.`);
  report(`${userId} is no platform admin any more. PLATFORM_ADMINS may still name them.`);
}

async function createWithAdmin({ sql, stamps }: Services, { name, seatLimit, adminUser: userId, adminEmail: email }: NewOrganization, report: Report) {
  const organizationId = Bun.randomUUIDv7();
  await sql.begin(async (tx) => {
    await saveUser(tx, { userId, email: email.toLowerCase(), name: null });
    await createOrganization(tx, { id: organizationId, name, seatLimit }, BY);
    await addAdmin(tx, stamps, { ...BY, organizationId }, { userId, email });
  });
  report(organizationId);
}

/** Hears of no token, only of its hash. */
async function addApiToken({ sql, stamps }: Services, { organizationId, ...wished }: NewApiToken) {
  if (!(await createOrganizationLookup(sql).exists(organizationId))) throw new Error(`There is no organization ${organizationId}.`);
  const created = await createApiToken(sql, stamps, { ...BY, organizationId }, wished, new Date());
  if (typeof created === "string") throw new Error("The organization has as many live API tokens as it may. Revoke one first.");
}

/** Makes a platform admin of the user of a token that was made on the command line. */
async function addStaff({ sql, stamps }: Services, { userId, email, event }: NewStaff) {
  await saveUser(sql, { userId, email, name: null });
  await grantPlatformAdmin(sql, stamps, userId, true);
  await addPlatformEvent(sql, BY, event);
}

const noteEvent = ({ sql }: Services, { event }: { event: PlatformEvent }) => addPlatformEvent(sql, BY, event).then(() => {});

/** The changes that commands make, by the names with which they ask a running server. */
export const ADMINISTRATION = {
  "grant-platform-admin": grant,
  "revoke-platform-admin": revoke,
  "create-organization": createWithAdmin,
  "create-api-token": addApiToken,
  "add-staff": addStaff,
  "note-event": noteEvent,
};
