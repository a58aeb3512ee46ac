import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { Refusal } from "#http/errors";
import { DIGEST, type Ended, withoutMail } from "#modules/notifications/preferences/rules/preferences";
import { changePreferences } from "#modules/notifications/preferences/services/change";
import { createUnsubscribeLinks, UNSUBSCRIBE_PATH } from "./services/unsubscribe-links";

/**
 * The page of the link at the foot of a mail, which is permission enough. A GET only asks, because programs follow links; a POST, by the
 * button or by a mail reader (RFC 8058), changes the preferences.
 */
export const unsubscribe = (deps: Deps) => {
  const links = createUnsubscribeLinks(deps.config.keyring);
  function readLink({ url }: Request) {
    const link = links.read(new URL(url).searchParams);
    if (!link) throw new Refusal(403, "This link is not valid. PATCH /users/me/notifications/preferences chooses which mails come.");
    return link;
  }
  return new Elysia()
    .get(
      UNSUBSCRIBE_PATH,
      ({ request }) => page("Get no more of these mails?", `${describe(readLink(request).ended)} <form method="post"><button>Stop these mails</button></form>`),
      { detail: { hide: true } },
    )
    .post(
      UNSUBSCRIBE_PATH,
      async ({ request }) => {
        const { userId, ended } = readLink(request);
        await changePreferences(deps, userId, undefined, ({ mail }) => ({ mail: withoutMail(mail, ended) }));
        deps.log.info({ user: userId, mails: ended }, "mails ended by a link");
        return page("These mails have ended", `${describe(ended)} You get no more of them. The inbox has every notification as before.`);
      },
      { detail: { hide: true } },
    );
};

const describe = (ended: Ended) => (ended === DIGEST ? "The daily digest." : `Mails of the kind <em>${ended.replaceAll("_", " ")}</em>.`);

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
};

/** The text is our own; nothing in it comes from a request. */
const page = (title: string, text: string) =>
  new Response(
    `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>${title}</title>
<style>body{max-width:32rem;margin:4rem auto;padding:0 1rem;color:#1f2937;font:16px/1.5 sans-serif}button{font:inherit;padding:.5rem 1rem}</style></head>
<body><h1>${title}</h1><p>${text}</p></body>
</html>
`,
    { headers: HEADERS },
  );
