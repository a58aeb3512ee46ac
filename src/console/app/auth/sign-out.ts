import { address, send } from "../api";
import { ApiError } from "../errors";
import { toastError } from "../parts/toast";
import { endSession, isPerson, session } from "./session";

/** The server refuses a person's token from now on; an API token is only forgotten here. */
export async function signOut() {
  const token = session.value?.token;
  if (isPerson.value && token !== undefined) await send("POST", address("auth", "sign-out"), { token }).catch(toastUnlessEnded);
  endSession();
}

const toastUnlessEnded = (error: unknown) => (error instanceof ApiError && error.status === 401 ? undefined : toastError(error));
