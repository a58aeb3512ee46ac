import { Elysia, t } from "elysia";
import { authenticate } from "#auth/authenticate";
import { isStandingPlatformAdmin } from "#auth/standing";
import type { Caller } from "#auth/tokens";
import type { Deps } from "#deps";
import { readBody } from "#http/body";
import { Refusal } from "#http/errors";
import { Email, Message, Unauthorized, Uuid } from "#http/schema";
import { findPlatformAdmin } from "#modules/people/users/queries";
import { isUuid } from "#text/uuid";

const Headers = t.Object(
  {
    "x-user-id": { ...Uuid, description: "The platform admin's user id: the token's own." },
    "x-platform-staff-email": t.Optional({ ...Email, description: "An address of a staff domain: the token's own." }),
  },
  { noValidate: true },
);

/** A user of the platform's own staff: `caller`. */
export const platformStaff = (deps: Deps) =>
  new Elysia({ name: "platform-staff" })
    .guard({ as: "scoped", headers: Headers, response: { 401: Unauthorized(["userToken", "platformAdmin"]), 403: Message } })
    .derive({ as: "scoped" }, async function identify({ request }) {
      const caller = await authenticate(deps, request);
      await requireStaff(deps, caller, request.headers);
      return { caller };
    })
    .onTransform({ as: "scoped" }, readBody);

/** True for a platform admin, by PLATFORM_ADMINS or granted. */
export async function isStaff(deps: Deps, userId: string) {
  if (deps.config.platformAdmins.has(userId)) return true;
  const admin = await findPlatformAdmin(deps.sql, userId);
  return admin !== undefined && isStandingPlatformAdmin(deps, admin);
}

async function requireStaff(deps: Deps, caller: Caller, headers: Headers) {
  const userId = headers.get("x-user-id");
  if (!isUuid(userId) || userId.toLowerCase() !== caller.userId) throw new Refusal(403, "The header x-user-id must be the user id of your own token.");
  if (!(await isStaff(deps, caller.userId))) throw new Refusal(403, "Only platform staff may do this.");
  const email = headers.get("x-platform-staff-email")?.toLowerCase();
  if (email === undefined) return;
  const domain = /^[^\s@,]+@([^\s@,]+)$/.exec(email)?.[1];
  if (!domain || !deps.config.platformStaffDomains.includes(domain))
    throw new Refusal(403, "The header x-platform-staff-email is not an address of a staff domain (PLATFORM_STAFF_DOMAINS).");
  if (caller.email && caller.email !== email) throw new Refusal(403, "The header x-platform-staff-email is not the e-mail address of your token.");
}
