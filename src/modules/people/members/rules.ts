import { sha256 } from "#crypto/sha256";
import type { Actor } from "#modules/people/audit/queries";

const DAY = 86_400_000;
const LIFETIME = 7 * DAY;

/** What is stored of a token. */
export const hashInvitationToken = (token: string) => sha256(token);

/** A fresh invitation token, which only its hash outlives. */
export function issueInvitationToken(now: Date) {
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  return { token, tokenHash: hashInvitationToken(token), expiresAt: new Date(now.getTime() + LIFETIME).toISOString() };
}

/** True where invitations go out by mail; no version of the server sends mail yet. */
const sendsMail = () => false;

/** True when the inviter gets the link: there is no mail, and the request proved who it is, by more than a gateway's headers. */
export const showsLink = ({ via, ...actor }: Actor) => !sendsMail() && ["user", "api-token"].includes((via ?? actor).type);

/** The token stands behind `#`: a browser that opens the link sends it to no server and writes it into no access log. */
export const invitationLink = (base: string, token: string) => `${base}/invitations/accept#${token}`;
