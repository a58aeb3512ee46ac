import { type Facts, fromHex, inJson, type Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { type Field, ORDERED, pairs } from "./columns";

type Id = { organizationId: string; agentId: string; id: string };
/** An assignment as it is ordered: what a caller says of it, the policy that it belongs to, and whether the key is its host's own. */
export type Order = Id & { policyId: string | null; keyOnHost?: boolean } & { [name in Field]: unknown };

/** The facts of an assignment that are stamped. A new field that has its default must be left out: older stamps are without it. */
export const orderOf = ({ policyId, keyOnHost, ...said }: Order): Facts => [
  "assignment",
  ...idOf(said),
  policyId,
  {
    ...Object.fromEntries(ORDERED.map((field) => [field, field === "certificateId" ? String(said[field]).toLowerCase() : said[field]])),
    ...(keyOnHost && { keyOnHost }),
  },
];

/** The facts of a removal that are stamped, whatever the assignment says: the agent removes what it has of that id. */
export const removalOf = (assignment: Id): Facts => ["removal", ...idOf(assignment)];

/** As the database writes them, whatever a caller does. */
const idOf = ({ organizationId, agentId, id }: Id) => [organizationId, agentId, id].map((each) => each.toLowerCase());

/** The order of the row `alias`, as pairs for json_build_object; of one whose key is not its host's own. */
export const orderPairs = (sql: Sql, alias: string) => {
  const row = sql.text(alias);
  return sql`'organizationId', ${row}.organization_id, 'agentId', ${row}.agent_id, 'id', ${row}.id, 'policyId', ${row}.policy_id, ${pairs(sql, alias)}`;
};

/** The order of any row `alias` of assignments. */
export const wholeOrderPairs = (sql: Sql, alias: string) => sql`${orderPairs(sql, alias)}, 'keyOnHost', ${sql.text(alias)}.key_on_host`;

/** An assignment before a change: its order, and its stamp in hexadecimal. */
export type Stamped = { was: Order; stamp: string | null };

export const stampText = (sql: Sql, alias: string) => sql`encode(${sql.text(alias)}.stamp, 'hex')`;

/** True where the server ordered the assignment as it is: only from such a one follows another. */
export const isOrdered = (stamps: Stamps, { was, stamp }: Stamped) => stamps.hold(fromHex(stamp), orderOf(was));

/** Orders with their stamps, as statements take them. */
export const withStamp = <Given extends Order>(stamps: Stamps, order: Given) => ({ ...order, stamp: inJson(stamps.of(orderOf(order))) });

/** The request to an agent for a removal, as statements take it. */
export const removalWithStamp = (stamps: Stamps, { organizationId, agentId, id }: Id) => ({
  agentId,
  id,
  stamp: inJson(stamps.of(removalOf({ organizationId, agentId, id }))),
});

/** Rows of removals in JSON. */
export const fromRemovals = (sql: Sql, removals: readonly object[], alias: string) =>
  sql`(select "agentId" as agent_id, id, stamp from jsonb_to_recordset(${JSON.stringify(removals)}::jsonb) as given("agentId" uuid, id uuid, stamp bytea)) as ${sql.text(alias)}`;
