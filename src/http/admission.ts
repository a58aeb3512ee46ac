import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { Refusal } from "./errors";
import { exchangeOf } from "./exchange";

/**
 * Statements and transactions of a process that may wait for the database before requests are refused. A thousand are done in
 * about a second.
 */
const MAX_WAITING = 1_000;
const CROWDED = "The server has more requests than it can answer. Try again in a moment.";

/**
 * Refuses requests of the routes below it while too many statements wait. Admitted requests are finished, and jobs are never
 * refused: a crowd delays them only by the statements ahead.
 */
export const admission = ({ sql }: Pick<Deps, "sql">) => {
  function admit() {
    if (sql.demand() >= MAX_WAITING) throw new Refusal(503, CROWDED, { "retry-after": "1" });
  }
  return new Elysia({ name: "admission" }).onTransform({ as: "global" }, ({ request }) => {
    exchangeOf(request).admit = admit;
    admit();
  });
};
