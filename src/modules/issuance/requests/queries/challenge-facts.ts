import type { Facts } from "#crypto/stamps";
import type { Sql } from "#db/connect";

/** A challenge that an agent answers with the token and the thumbprint of the account key. */
export type Challenge = { organizationId: string; requestId: string; token: string; name: string; thumbprint: string };

/** The stamped facts of a challenge; its place is in the stamp of its request. */
export const challengeFacts = (facts: Challenge): Facts => ["host-challenge", facts];

/** The facts of the challenge `c`. */
export const challengeFactsJson = (
  sql: Sql,
  c = sql`c`,
) => sql`json_build_object('organizationId', ${c}.organization_id, 'requestId', ${c}.request_id, 'name', ${c}.name,
  'token', ${c}.token, 'thumbprint', ${c}.thumbprint)`;
