import { readMaterial } from "./material";
import { type Asking, expectPermitted } from "./policy/host-policy";
import type { Desired } from "./server-client";
import type { AssignmentRecord } from "./state";
import type { Target } from "./store";
import { storeOf } from "./stores/stores";
import { isSamePlace, readTarget } from "./targets";

/** Reads what is desired, and throws Refused where the host's policy does not permit it: nothing of it has touched the host before. */
export async function readPermitted(item: Desired, asking: Asking) {
  const target = readTarget(item);
  const sent = readMaterial(item);
  const isOwnKey = item.keyOnHost === true && storeOf(target.storeType).keyInside === undefined;
  await expectPermitted(target, sent.privateKey !== null || isOwnKey, sent, asking);
  return { target, sent, isOwnKey };
}

/** Returns where it is installed until now, if that is another place than the target. */
export const formerTargetOf = ({ certificate, target: former }: Pick<AssignmentRecord, "certificate" | "target">, target: Target) =>
  certificate !== undefined && former && !isSamePlace(former, target) ? former : undefined;
