import { acceptInvitation, invitation } from "../../auth/entrance";
import { endSession, session } from "../../auth/session";
import { enterWith } from "../../auth/sign-in-with";
import { EmptyState } from "../../parts/empty";
import { Form } from "../../parts/form";
import { PageHeading } from "../../parts/heading";
import { toast } from "../../parts/toast";
import { go } from "../../router";

/** The page that the link of an invitation leads to. */
export function InvitationPage() {
  if (invitation() === null)
    return (
      <>
        <PageHeading title="Invitation" />
        <EmptyState title="No invitation is open in this tab." hint="Open the link of the invitation's mail once more." />
      </>
    );
  return (
    <>
      <PageHeading title="You are invited" intro={`You are signed in as ${session.value?.person.name}.`} />
      <p class="fine">The invitation must be for this person's verified e-mail address.</p>
      <Form fields={[]} submit="Accept the invitation" onSubmit={accept}>
        <button class="quiet" type="button" onClick={() => endSession("Sign in as the person who was invited.")}>
          Sign in as another user
        </button>
      </Form>
    </>
  );
}

async function accept() {
  const organizationId = await acceptInvitation();
  const token = session.value?.token;
  if (token !== undefined) await enterWith(token);
  toast("Welcome. You are a member now.");
  go(`#/o/${organizationId}/`);
}
