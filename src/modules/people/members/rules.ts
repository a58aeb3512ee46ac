import { sha256 } from "#crypto/sha256";
import { showName, toAscii } from "#mail/address";
import type { Mail } from "#mail/message";
import type { Actor } from "#modules/people/audit/queries";

const DAY = 86_400_000;
const LIFETIME = 7 * DAY;

/** Returns the stored form of a token. */
export const hashInvitationToken = (token: string) => sha256(token);

/** A fresh invitation token, which only its hash outlives. */
export function issueInvitationToken(now: Date) {
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  return { token, tokenHash: hashInvitationToken(token), expiresAt: new Date(now.getTime() + LIFETIME).toISOString() };
}

/** True when the inviter gets the link: there is no mail, and the request proved who it is, by more than a gateway's headers. */
export const showsLink = ({ via, ...actor }: Actor, sendsMail: boolean) => !sendsMail && ["user", "api-token"].includes((via ?? actor).type);

/** The token stands behind `#`: a browser that opens the link sends it to no server and writes it into no access log. */
export const invitationLink = (base: string, token: string) => `${base}/invitations/accept#${token}`;

type Invitation = {
  email: string;
  firstName: string | null;
  lastName: string | null;
  role: "ORG_ADMIN" | "ORG_MEMBER";
  organization: string;
  inviter: { name: string | null; email: string | null } | null;
};

const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });

/**
 * The mail of an invitation: who invites, where to, until when, and the link. It goes to strangers: its headers hold no words
 * of others, its text names alone.
 */
export function invitationMail({ email, firstName, lastName, role, organization, inviter }: Invitation, url: string, expiresAt: string): Mail {
  const name = [firstName, lastName].flatMap((each) => (each ? showName(each) : [])).join(" ");
  const by = inviter && [inviter.name && showName(inviter.name), inviter.email && `(${showAddress(inviter.email)})`].filter(Boolean).join(" ");
  const where = `${showName(organization)} in Certitude`;
  const as = role === "ORG_ADMIN" ? "an administrator" : "a member";
  return {
    to: { name: "", address: email },
    subject: "Invitation to Certitude",
    body: [
      `Hello${name && ` ${name}`},`,
      by ? `${by} invites you to join ${where} as ${as}.` : `You are invited to join ${where} as ${as}.`,
      { label: "Accept the invitation", url },
      `The link is for ${showAddress(email)} alone and works once, until ${MOMENT.format(new Date(expiresAt))} UTC. A newer invitation replaces it.`,
      "If you did not expect this, you need not do anything.",
    ],
  };
}

/** The address with look-alike letters made visible; one that no mail could have is shown as it is. */
const showAddress = (address: string) => toAscii(address) ?? address;
