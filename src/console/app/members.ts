import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { inOrganization } from "./api";
import type { RowInOrganization } from "./operations";
import { type Reading, readAll } from "./reading";
import { place } from "./router";

export type Member = RowInOrganization<["members"]>;

const lastRead = signal<{ organizationId?: string | undefined; all?: Member[] }>({});

/** The members of the organization that is shown; undefined until they are read. */
const members = computed(() => (lastRead.value.organizationId === place.value.organizationId ? lastRead.value.all : undefined));

/** Reads the members as they are now. */
export async function readMembers() {
  const { organizationId } = place.value;
  const all = await readAll(inOrganization("members"));
  lastRead.value = { organizationId, all };
  return all;
}

const error = signal<Error | undefined>(undefined);
const reload = () =>
  readMembers().then(
    () => {
      error.value = undefined;
    },
    (failure) => {
      error.value = failure;
    },
  );

/** Reads the members when the part appears; those that are known from before are shown meanwhile. */
export function useMembers(): Reading<Member[]> {
  useEffect(() => void reload(), []);
  return { data: members, error, reload };
}

export const nameOf = ({ firstName, lastName, email }: Pick<Member, "firstName" | "lastName" | "email">) =>
  [firstName, lastName].filter(Boolean).join(" ") || email;

/** Returns the name of the member who is this user, if there is one. */
export function nameOfUser(userId: string | null | undefined) {
  const member = members.value?.find((each) => each.userId === userId);
  return member && nameOf(member);
}

/** Those who can answer for something, as choices: active members, by their user ids. */
export const owners = computed(() =>
  (members.value ?? []).flatMap((member) => (member.userId !== null && member.status === "active" ? [[member.userId, nameOf(member)] as const] : [])),
);
