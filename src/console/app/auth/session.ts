import { computed, effect, signal } from "@preact/signals";
import type { OnServer } from "../operations";
import { place } from "../router";

export type Membership = OnServer<["users", "me"]>["memberships"][number];
export type Role = Membership["role"];
export type Person = { id: string | null; name: string; platformAdmin: boolean; memberships: Membership[] };
type Session = { token: string; person: Person };

const KEY = "certitude-session";

/** The person, or the API token, that is signed in; kept until the tab is closed. */
export const session = signal<Session | undefined>(restore());
/** Why the sign-in page is shown, when a session has ended. */
export const signInNotice = signal("");
/**
 * True while the server refuses the session's token: what is shown stays, with all that was typed, until the person has signed
 * in again.
 */
export const isRefused = signal(false);

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
  isRefused.value = false;
  session.value = started;
}

export function endSession(notice = "") {
  sessionStorage.removeItem(KEY);
  signInNotice.value = notice;
  isRefused.value = false;
  session.value = undefined;
}

/** Returns the holder of a session: a person, or the organization of an API token. */
export const holderOf = ({ person }: Session) => person.id ?? person.memberships[0]?.organizationId;

/** Resolves when the holder of the session has another token than this, which was refused; never, if another person signs in. */
export function signedInAgain(token: string) {
  const holder = session.value && holderOf(session.value);
  if (session.value?.token === token) isRefused.value = true;
  return new Promise<void>((resolve) => {
    const stop = effect(() => {
      const current = session.value;
      if (current?.token === token) return;
      if (current && holderOf(current) === holder) resolve();
      queueMicrotask(() => stop());
    });
  });
}
