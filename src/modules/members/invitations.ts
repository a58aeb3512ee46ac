import type { Deps } from "../../deps";

const DAY = 86_400_000;
const LIFETIME = 7 * DAY;

/** What is stored of a token. */
export const hashInvitationToken = (token: string) => new Bun.CryptoHasher("sha256").update(token).digest("hex");

/** A fresh invitation token, which only its hash outlives. */
export function issueInvitationToken(now: Date) {
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  return { token, tokenHash: hashInvitationToken(token), expiresAt: new Date(now.getTime() + LIFETIME).toISOString() };
}

/** No mail is sent: the embedded default, where operator and inviter are one, shows the link in its log. */
export function announceInvitation({ config, log }: Pick<Deps, "config" | "log">, email: string, token: string) {
  if (config.databaseUrl) return;
  const base = config.publicUrl ?? `http://${config.host}:${config.port}`;
  log.info({ email, link: `${base}/invitations/accept#${token}` }, "invitation: pass the link on, no mail is sent");
}
