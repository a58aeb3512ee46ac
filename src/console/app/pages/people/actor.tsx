import { nameOfUser } from "../../members";
import type { Actor } from "../audit/types";

/** Shows an actor: a member's name, or the kind of actor and its id. */
export function ActorName({ of: { type, id, via, userId } }: { of: Actor }) {
  const name = nameOfUser(id);
  return (
    <span title={[id, via && `by way of ${via.type} ${via.id ?? ""}`, userId && `behind it: ${nameOfUser(userId) ?? userId}`].filter(Boolean).join(", ")}>
      {name ?? describe(type)}
      {!name && id && <code class="short-id"> …{id.slice(-6)}</code>}
    </span>
  );
}

/** "api-token" reads "API token". */
export function describe(type: string) {
  const words = type.replaceAll("-", " ").replace(/^api /, "API ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
