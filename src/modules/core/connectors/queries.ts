import type { Values } from "#catalogue/fields";
import type { Facts, Stamp, Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { TO_TRUST, UNPROVEN } from "#modules/people/roles/rules";

type Stamped = { organizationId: string; id: string; kind: string; config: Values };

/** The facts of a connection that its stamp covers: the config says where secrets go. */
export const connectionFacts = ({ organizationId, id, kind, config }: Stamped): Facts => ["connection", { organizationId, id, kind, config }];
export const connectionFactsJson = (sql: Sql) => sql`json_build_object('organizationId', organization_id, 'id', id, 'kind', kind, 'config', config)`;

export const UNPROVEN_CONNECTION = `The connection ${UNPROVEN}: delete it and create it again. ${TO_TRUST}`;

/** True where a server has set what a connection is. */
export const isConnectionProven = (stamps: Stamps, stored: Stamped & { stamp: Stamp }) => stamps.hold(stored.stamp, connectionFacts(stored));

export type StoredConnection = {
  organizationId: string;
  id: string;
  kind: string;
  config: Values;
  sealedSecrets: Uint8Array | null;
  stamp: Stamp;
};

export async function findConnection(sql: Sql, organizationId: string, connectionId: string) {
  const [row] = await sql<StoredConnection[]>`
    select organization_id as "organizationId", id, kind, config, sealed_secrets as "sealedSecrets", stamp from connections where organization_id = ${organizationId} and id = ${connectionId}`;
  return row;
}
