import { isDeepStrictEqual } from "node:util";
import { type Target, updateLocked } from "#db/outcome";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import type { Scope } from "#modules/people/audit/queries";
import { findAuthority, findDependents, findStored, removeAuthority, writeChange } from "../queries/authorities";
import { isAuthorityProven } from "../queries/stamps";
import { readProfiles } from "../rules/profiles";
import type { AuthorityPatch } from "../schema";
import { unprovenSentence } from "./signer";

/** Changes the named fields alone; a patch that repeats the present values writes nothing. */
export const changeAuthority = ({ sql, stamps, clock }: IssuingDeps, scope: Scope, { id, versions }: Target, patch: typeof AuthorityPatch.static) =>
  sql.begin(async (tx) =>
    updateLocked(await findStored(tx, scope.organizationId, id, "update"), versions, async (stored) => {
      if (!isAuthorityProven(stamps, stored)) return { inTheWay: unprovenSentence(stored.name) };
      const read = patch.profiles ? readProfiles("body.profiles", patch.profiles) : { profiles: stored.profiles };
      if ("invalid" in read) return read;
      const { name = stored.name, enabled = stored.enabled, publicUrl = stored.publicUrl } = patch;
      const next = { name, enabled, profiles: read.profiles, publicUrl: publicUrl.replace(/\/$/, "") };
      const changed = (Object.keys(next) as (keyof typeof next)[]).filter((field) => !isDeepStrictEqual(next[field], stored[field]));
      const shown =
        changed.length > 0 ? await writeChange(tx, stamps, scope, id, next, changed, clock()) : await findAuthority(tx, scope.organizationId, id, clock());
      return shown ?? "not found";
    }),
  );

/** Deletes an authority that nothing needs any more. */
export const deleteAuthority = ({ sql, clock }: IssuingDeps, scope: Scope, { id, versions }: Target) =>
  sql.begin(async (tx) =>
    updateLocked(await findStored(tx, scope.organizationId, id, "update"), versions, async () => {
      const inTheWay = await findDependents(tx, scope.organizationId, id, clock());
      if (inTheWay) return { inTheWay };
      await removeAuthority(tx, scope, id);
      return "done" as const;
    }),
  );
