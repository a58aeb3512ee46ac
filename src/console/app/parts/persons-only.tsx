import { EmptyState } from "./empty";
import { PageHeading } from "./heading";

/** For API tokens, which stand for no person. */
export const PersonsOnly = ({ title }: { title: string }) => (
  <>
    <PageHeading title={title} />
    <EmptyState title="This page belongs to a person." hint="You are signed in with an API token. Sign out, and sign in with a user token to see it." />
  </>
);
