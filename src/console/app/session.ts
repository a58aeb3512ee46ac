import { computed, signal } from "@preact/signals";
import { place } from "./router";

export type Role = "ORG_ADMIN" | "ORG_MEMBER";
export type Membership = { organizationId: string; organizationName: string; role: Role };
export type Person = { id: string | null; name: string; platformAdmin: boolean; memberships: Membership[] };
type Session = { token: string; person: Person };

const KEY = "certitude-session";

/** Who is signed in; kept until the tab is closed. */
export const session = signal<Session | undefined>(restore());
/** Why the sign-in page is shown, when a session has ended. */
export const signInNotice = signal("");

export const membership = computed(() => session.value?.person.memberships.find(({ organizationId }) => organizationId === place.value.organizationId));
/** True where the person may write in the organization that is shown. */
export const isAdmin = computed(() => membership.value?.role === "ORG_ADMIN");
/** False for an API token, which has no inbox, preferences or profile. */
export const isPerson = computed(() => (session.value?.person.id ?? null) !== null);

function restore(): Session | undefined {
  const kept = sessionStorage.getItem(KEY);
  return kept === null ? undefined : JSON.parse(kept);
}

export function startSession(started: Session) {
  sessionStorage.setItem(KEY, JSON.stringify(started));
  signInNotice.value = "";
  session.value = started;
}

export function endSession(notice = "") {
  sessionStorage.removeItem(KEY);
  signInNotice.value = notice;
  session.value = undefined;
}
