import { inOrganization } from "../api";
import { useRead } from "../reading";

export type Member = { userId: string | null; email: string; firstName: string | null; lastName: string | null; status: string };

/** The first hundred members, for names and choices. */
export function useMembers(): Member[] {
  return useRead<{ items: Member[] }>(`${inOrganization("members")}?limit=100`).data.value?.items ?? [];
}

const fullName = ({ firstName, lastName, email }: Member) => [firstName, lastName].filter(Boolean).join(" ") || email;

export const nameOf = (members: Member[], userId: string | null) => {
  if (userId === null) return "—";
  const member = members.find((each) => each.userId === userId);
  return member ? fullName(member) : userId;
};

/** Who can answer for something: active members, as choices. */
export const ownersOf = (members: Member[]) =>
  members.flatMap((member) => (member.userId !== null && member.status === "active" ? [[member.userId, fullName(member)] as const] : []));
