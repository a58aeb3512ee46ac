import { signal } from "@preact/signals";
import { inOrganization, read } from "../../api";
import { place } from "../../router";
import type { Actor } from "../audit/types";
import { type Member, nameOf } from "./types";

/** As many as one page of the API names; others are shown by their ids. */
const NAMED = 100;
const known = signal<{ organizationId: string | undefined; names: Record<string, string> }>({ organizationId: undefined, names: {} });

/** Reads the names of members, once for each organization, so that actors have them. */
export async function readNames() {
  const { organizationId } = place.value;
  if (known.peek().organizationId === organizationId) return;
  const { items } = await read<{ items: Member[] }>(inOrganization("members"), { limit: NAMED });
  known.value = { organizationId, names: Object.fromEntries(items.flatMap((member) => (member.userId ? [[member.userId, nameOf(member)]] : []))) };
}

/** Who did something: a member's name, or the kind of actor and its id. */
export function ActorName({ of: { type, id, via, userId } }: { of: Actor }) {
  const name = id === undefined ? undefined : known.value.names[id];
  return (
    <span
      title={[id, via && `by way of ${via.type} ${via.id ?? ""}`, userId && `behind it: ${known.value.names[userId] ?? userId}`].filter(Boolean).join(", ")}
    >
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
