import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Dialog } from "../parts/dialog";
import { type Field, Form, type Values } from "../parts/form";
import { Icon } from "../parts/icon";
import { toastError } from "../parts/toast";
import { findProvider, invitation, isEntering, type Provider, startAttempt } from "./entrance";
import { endSession, signInNotice } from "./session";
import { enterWith } from "./sign-in-with";
import { readToken } from "./token";

const FIELDS: Field[] = [
  { name: "token", label: "Token", kind: "password", required: true, hint: "A user token, or an API token (it begins with cat_)." },
  { name: "organizationId", label: "Organization id", kind: "text", hint: "For an API token alone: the organization that it belongs to." },
];

export function SignIn() {
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <p class="brand">
        <Icon name="shield" /> Certitude
      </p>
      <h1>Sign in</h1>
      {invitation() !== null && <p class="notice">You are invited. Sign in with the address that the invitation was sent to, and accept it.</p>}
      {signInNotice.value && (
        <p class="notice" role="status">
          {signInNotice.value}
        </p>
      )}
      {isEntering.value ? <p class="loading">Signing in…</p> : <Ways />}
    </main>
  );
}

/** Over a page whose session has ended: the page stays behind it, unseen, with what was typed. */
export const SignInAgain = () => (
  <Dialog title="Sign in again" isOpaque onClose={() => endSession("Your session has ended.")}>
    <div class="sign-in-again">
      <p class="notice" role="status">
        Your session has ended. Sign in again to go on where you were: what you typed is still there.
      </p>
      <Ways />
    </div>
  </Dialog>
);

const Ways = () => (
  <>
    <AtProvider />
    <Form fields={FIELDS} submit="Sign in" onSubmit={signIn} />
    <p class="fine">The token stays in this tab, and is forgotten when you close it.</p>
  </>
);

const signIn = async ({ token, organizationId = "" }: Values) => enterWith(readToken(`${token}`), `${organizationId}`.trim());

/** The way to the identity provider, if the server is a client of one. */
function AtProvider() {
  const provider = useSignal<Provider | null>(null);
  useEffect(() => {
    findProvider().then((found) => {
      provider.value = found;
    }, toastError);
  }, []);
  if (!provider.value) return null;
  const { value } = provider;
  return (
    <div class="at-provider">
      <button class="primary" type="button" onClick={() => void startAttempt(value).catch(toastError)}>
        Sign in with {new URL(value.issuer).host}
      </button>
      <p class="fine">or with a token:</p>
    </div>
  );
}
