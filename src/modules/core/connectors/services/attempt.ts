import type { Deps } from "#deps";
import { isConnectionProven, type StoredConnection, UNPROVEN_CONNECTION } from "../queries";
import type { Message } from "../rules/message";
import { fail, type Outcome } from "../rules/outcome";
import { deliverByHttp, type Reach } from "./http";
import { openSecrets } from "./secrets";
import { deliverByMail } from "./smtp";

/** The most time that one attempt may take. */
const HTTP_MS = 10_000;
const MAIL_MS = 20_000;

export type DeliveryDeps = {
  stamps: Deps["stamps"];
  config: Pick<Deps["config"], "keyring" | "allowPrivateTargets" | "publicUrl">;
  clock: () => Date;
  reach: Reach;
};
type Delivery = { organizationId: string; connectionId: string; connection: StoredConnection | undefined; message: Message; done?: string[]; maxMs?: number };
export type Attempted = { outcome: Outcome; done: string[] };

/** Delivers a message to a channel, once. Returns the outcome and, of several recipients, those who have it now. */
export async function attempt(
  { config, stamps, clock, reach }: DeliveryDeps,
  { organizationId, connectionId, connection, message, done = [], maxMs }: Delivery,
): Promise<Attempted> {
  const ended = (outcome: Outcome) => ({ outcome, done });
  if (!connection) return ended(fail("The connection was deleted.", true));
  if (!isConnectionProven(stamps, connection)) return ended(fail(UNPROVEN_CONNECTION, false));
  const secrets = openSecrets(config.keyring, connection.sealedSecrets, { organizationId, id: connectionId });
  if (!secrets) return ended(fail("The connection's secrets were sealed with another SECRETS_KEY. Set them again.", true));
  const values = { ...secrets, ...connection.config };
  const isMail = connection.kind === "smtp";
  const limits = { allowPrivate: config.allowPrivateTargets, signal: AbortSignal.timeout(maxMs ?? (isMail ? MAIL_MS : HTTP_MS)) };
  if (isMail) return deliverByMail({ values, message, done }, limits);
  return ended(await deliverByHttp({ kind: connection.kind, values, message, now: clock() }, limits, reach));
}

/** Returns the address of a path of this server; undefined where the server does not know its own address. */
export const urlOf = ({ publicUrl }: Pick<Deps["config"], "publicUrl">, path: string) => publicUrl && `${publicUrl}${path}`;
