import { updateLocked } from "#db/outcome";
import type { Versions } from "#db/versions";
import type { Deps } from "#deps";
import { lockPreferences, moveDigest, savePreferences } from "../queries";
import { type Changes, changed, isSame, type StoredPreferences } from "../rules/preferences";
import { nextHour } from "../rules/time";

/**
 * Changes a user's preferences by what they are; where nothing changes they keep their version. A digest that waits comes at
 * the new hour.
 */
export const changePreferences = (
  { sql, clock }: Pick<Deps, "sql" | "clock">,
  userId: string,
  versions: Versions,
  by: (current: StoredPreferences) => Changes,
) =>
  sql.begin(async (tx) =>
    updateLocked(await lockPreferences(tx, userId), versions, async (current) => {
      const wanted = changed(current, by(current));
      if (isSame(current, wanted)) return current;
      const { timeZone, digestHour } = wanted;
      if (timeZone !== current.timeZone || digestHour !== current.digestHour) await moveDigest(tx, userId, nextHour(clock(), timeZone, digestHour));
      return (await savePreferences(tx, userId, wanted)) ?? ("not found" as const);
    }),
  );
