import type { Logger } from "pino";
import type { Host } from "./host/host";
import type { AssignmentRecord } from "./state";
import { misplacedIn, type Target } from "./store";
import { storeOf } from "./stores/stores";
import type { Transaction } from "./transaction/transaction";

/** Returns what an earlier release put elsewhere for the target, by its record. */
export const findMisplaced = ({ ownership }: AssignmentRecord, target: Target, host: Host) => misplacedIn(storeOf(target.storeType), target, ownership, host);

/** Takes it away, so that what lies at the target is all that there is. */
export async function removeMisplaced(record: AssignmentRecord, target: Target, transaction: Transaction, log: Logger) {
  const { names, remove } = await findMisplaced(record, target, transaction.host);
  if (names.length === 0) return;
  log.info({ names }, "an earlier release of the agent put this elsewhere: it is taken away there");
  await remove(transaction);
}
