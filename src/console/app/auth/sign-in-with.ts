import { address, read } from "../api";
import { ApiError } from "../errors";
import { type Person, type Role, startSession } from "./session";

/** Signs in with a token, whose person and organizations the server names. */
export async function enterWith(token: string, organizationId = "") {
  const person = token.startsWith("cat_") ? await findTokenHolder(token, organizationId) : await findPerson(token);
  startSession({ token, person });
}

async function findPerson(token: string): Promise<Person> {
  const me = await read(address("users", "me"), {}, { token }).catch(explain);
  return { id: me.id, name: me.displayName ?? me.fullName ?? me.email ?? me.id, platformAdmin: me.platformAdmin, memberships: me.memberships };
}

/** An API token does not say its role: the larger one is tried first. */
async function findTokenHolder(token: string, organizationId: string): Promise<Person> {
  if (organizationId === "") throw new Error("An API token belongs to one organization: give its id too.");
  const tryRole = async (role: Role): Promise<Person> => {
    const { name } = await read(address("organizations", organizationId), {}, { token, role });
    return { id: null, name: "API token", platformAdmin: false, memberships: [{ organizationId, organizationName: name, role }] };
  };
  return tryRole("ORG_ADMIN")
    .catch((error) => {
      if (error instanceof ApiError && error.status === 403) return tryRole("ORG_MEMBER");
      throw error;
    })
    .catch(explain);
}

function explain(error: Error): never {
  if (error instanceof ApiError && error.status === 401) throw new Error("The server does not accept this token: it is wrong, has ended or was revoked.");
  throw error;
}
