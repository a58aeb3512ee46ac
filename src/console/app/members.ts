import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { inOrganization } from "./api";
import { toError } from "./errors";
import type { RowInOrganization } from "./operations";
import { type Reading, readAll } from "./reading";
import { place } from "./router";

export type Member = RowInOrganization<["members"]>;

type LastRead = { organizationId: string | undefined; all?: Member[]; error?: Error };

const lastRead = signal<LastRead>({ organizationId: undefined });
const shown = computed(() => (lastRead.value.organizationId === place.value.organizationId ? lastRead.value : undefined));

/** The members of the organization that is shown; undefined until they are read. */
const members = computed(() => shown.value?.all);
const error = computed(() => shown.value?.error);

/** Keeps what was read, unless another organization is shown by now. */
function keep(read: LastRead) {
  if (read.organizationId === place.value.organizationId) lastRead.value = read;
}

/** Reads the members as they are now. */
export async function readMembers() {
  const { organizationId } = place.value;
  const all = await readAll(inOrganization("members"));
  keep({ organizationId, all });
  return all;
}

/** Members that are known stay shown when they cannot be read again. */
async function reload() {
  const { organizationId } = place.value;
  await readMembers().catch((failure) => members.value ?? keep({ organizationId, error: toError(failure) }));
}

/** Reads the members when the part appears; those that are known from before are shown meanwhile. */
export function useMembers(): Reading<Member[]> {
  useEffect(() => void reload(), []);
  return { data: members, error, reload };
}

export const nameOf = ({ firstName, lastName, email }: Pick<Member, "firstName" | "lastName" | "email">) =>
  [firstName, lastName].filter(Boolean).join(" ") || email;

/** Returns the name of the member who is this user, if there is one. An invited member is no user yet. */
export function nameOfUser(userId: string | null | undefined) {
  const member = userId ? members.value?.find((each) => each.userId === userId) : undefined;
  return member && nameOf(member);
}

/** Those who can answer for something, as choices: active members, by their user ids. */
export const owners = computed(() =>
  (members.value ?? []).flatMap((member) => (member.userId !== null && member.status === "active" ? [[member.userId, nameOf(member)] as const] : [])),
);
