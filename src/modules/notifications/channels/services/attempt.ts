import type { Deps } from "#deps";
import { HELD_CONNECTION, isConnectionProven } from "#modules/core/connections/queries";
import { openSecrets } from "#modules/core/connections/services/secrets";
import type { StoredConnection } from "../queries/channels";
import { fail, type Outcome } from "../rules/outcome";
import type { Told } from "../rules/told";
import { deliverByHttp, type Reach } from "./http";
import { deliverByMail } from "./smtp";

/** How long one attempt may take. */
const HTTP_MS = 10_000;
const MAIL_MS = 20_000;

export type Needs = { stamps: Deps["stamps"]; config: Pick<Deps["config"], "keyring" | "allowPrivateTargets" | "publicUrl">; clock: () => Date; reach: Reach };
type Given = { organizationId: string; connectionId: string; connection: StoredConnection | undefined; told: Told; done?: string[]; maxMs?: number };
export type Attempted = { outcome: Outcome; done: string[] };

/** Tells a channel, once. Returns how that went; of several recipients, who has it now. */
export async function attempt(
  { config, stamps, clock, reach }: Needs,
  { organizationId, connectionId, connection, told, done = [], maxMs }: Given,
): Promise<Attempted> {
  const ended = (outcome: Outcome) => ({ outcome, done });
  if (!connection) return ended(fail("The connection was deleted.", true));
  if (!isConnectionProven(stamps, connection)) return ended(fail(HELD_CONNECTION, false));
  const secrets = openSecrets(config.keyring, connection.sealedSecrets, { organizationId, id: connectionId });
  if (!secrets) return ended(fail("The connection's secrets were sealed with another SECRETS_KEY. Set them again.", true));
  const values = { ...secrets, ...connection.config };
  const isMail = connection.kind === "smtp";
  const limits = { allowPrivate: config.allowPrivateTargets, signal: AbortSignal.timeout(maxMs ?? (isMail ? MAIL_MS : HTTP_MS)) };
  if (isMail) return deliverByMail({ values, told, done }, limits);
  return ended(await deliverByHttp({ kind: connection.kind, values, told, now: clock() }, limits, reach));
}

/** Where a path of this server is shown; undefined where the server does not know its own address. */
export const urlOf = ({ publicUrl }: Pick<Deps["config"], "publicUrl">, path: string) => publicUrl && `${publicUrl}${path}`;
