import { useEffect } from "preact/hooks";
import "./inbox/live";
import { holderOf, isRefused, membership, session } from "./auth/session";
import { SignIn, SignInAgain } from "./auth/sign-in";
import { Navigation } from "./navigation";
import { HOME, pages } from "./pages/index";
import { ConflictDialog } from "./parts/conflict";
import { EmptyState } from "./parts/empty";
import { PageHeading } from "./parts/heading";
import { describeLength } from "./parts/time";
import { Toasts } from "./parts/toast";
import { go, link, matchPath, place } from "./router";
import { clockDifference } from "./server-time";

export function Shell() {
  return (
    <>
      <button class="skip" type="button" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      {session.value ? <Inside key={holderOf(session.value)} /> : <SignIn />}
      <ConflictDialog />
      {isRefused.value && <SignInAgain />}
      <Toasts />
    </>
  );
}

function Inside() {
  const { organizationId, path } = place.value;
  const first = session.value?.person.memberships[0]?.organizationId;
  const isNowhere = path === "" && (organizationId !== undefined || first !== undefined);
  useEffect(() => {
    if (isNowhere) go(`#/o/${organizationId ?? first}/${HOME}`);
  }, [isNowhere, organizationId, first]);
  return (
    <div class="frame">
      <Navigation />
      <main id="main" tabIndex={-1}>
        <WrongClock />
        {!isNowhere && <CurrentPage key={`${organizationId} ${path}`} />}
      </main>
    </div>
  );
}

/** Without it a reader would wonder why the times are not those of the clock in the corner. */
function WrongClock() {
  const difference = clockDifference.value;
  if (difference === 0) return null;
  return (
    <p class="notice" role="status">
      The clock of this computer is {describeLength(Math.abs(difference))} {difference > 0 ? "behind" : "ahead of"} the server's. What is left until something
      ends is counted by the server's clock; set the one of this computer.
    </p>
  );
}

function CurrentPage() {
  const { organizationId, path } = place.value;
  for (const { path: pattern, Page, isPersonal } of pages) {
    const params = matchPath(pattern, path);
    if (!params || (organizationId === undefined && !isPersonal)) continue;
    return <Page {...params} />;
  }
  return <NoPage isMember={membership.value !== undefined} />;
}

function NoPage({ isMember }: { isMember: boolean }) {
  return (
    <>
      <PageHeading title="There is no such page" />
      <EmptyState
        title={isMember ? "This address leads nowhere." : "You belong to no organization yet."}
        hint={isMember ? "The navigation lists every page." : "Ask an administrator to invite you: the invitation arrives by mail."}
        {...(isMember && { action: { label: "To the first page", href: link(HOME) } })}
      />
    </>
  );
}
