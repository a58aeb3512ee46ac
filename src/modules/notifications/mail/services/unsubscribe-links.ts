import type { Keyring } from "#crypto/keyring";
import { createSignedQueries } from "#crypto/signed-query";
import { ENDED, type Ended } from "#modules/notifications/preferences/rules/preferences";

export const UNSUBSCRIBE_PATH = "/notifications/unsubscribe";

type Subscription = { userId: string; ended: Ended };

/**
 * Links that end one kind of mail for one user, and can do nothing else. They work for as long as the key that signed them is in the ring.
 */
export function createUnsubscribeLinks(keyring: Keyring) {
  const queries = createSignedQueries(keyring, "certitude unsubscribe links", ["user", "mails"]);

  const urlOf = (publicUrl: string, { userId, ended }: Subscription) =>
    `${publicUrl.replace(/\/$/, "")}${UNSUBSCRIBE_PATH}?${queries.sign([], { user: userId, mails: ended })}`;

  /** Returns what a link ends; undefined for one that was not signed. */
  function read(query: URLSearchParams): Subscription | undefined {
    const signed = queries.read([], query);
    const ended = ENDED.find((each) => each === signed?.mails);
    return signed && ended ? { userId: signed.user, ended } : undefined;
  }

  return { urlOf, read };
}
