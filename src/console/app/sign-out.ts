import { write } from "./api";
import { toastError } from "./parts/toast";
import { endSession, isPerson, session } from "./session";

/** The server refuses a person's token from now on; an API token is only forgotten here. */
export async function signOut() {
  if (isPerson.value) await write("POST", "auth/sign-out").catch(toastError);
  if (session.value) endSession();
}
