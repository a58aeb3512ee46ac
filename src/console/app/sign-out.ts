import { ApiError, send } from "./api";
import { toastError } from "./parts/toast";
import { endSession, isPerson, session } from "./session";

/** The server refuses a person's token from now on; an API token is only forgotten here. */
export async function signOut() {
  const token = session.value?.token;
  if (isPerson.value && token !== undefined) await send("POST", "auth/sign-out", { token }).catch(tellUnlessEnded);
  endSession();
}

const tellUnlessEnded = (error: unknown) => (error instanceof ApiError && error.status === 401 ? undefined : toastError(error));
