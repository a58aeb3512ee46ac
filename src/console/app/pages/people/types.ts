import { serverNow } from "../../server-time";
import type { Role } from "../../session";
import type { Actor } from "../audit/types";

export type Organization = { id: string; name: string; seatLimit: number | null; seatsTaken: number; version: number };

export type Member = {
  id: string;
  userId: string | null;
  email: string;
  firstName: string | null;
  lastName: string | null;
  role: Role;
  status: "invited" | "active";
  invitationExpiresAt: string | null;
  invitationMail: "pending" | "sent" | "failed" | null;
  invitationMailFailure: string | null;
  version: number;
  createdAt: string;
};
export type Invitation = { url: string; expiresAt: string };

export type ApiToken = {
  id: string;
  name: string;
  role: Role;
  expiresAt: string | null;
  lastUsedAt: string | null;
  createdBy: Actor;
  version: number;
  createdAt: string;
};

export const nameOf = ({ firstName, lastName, email }: Member) => [firstName, lastName].filter(Boolean).join(" ") || email;

export const isExpired = ({ invitationExpiresAt }: Member, now = serverNow()) => invitationExpiresAt !== null && Date.parse(invitationExpiresAt) <= now;
