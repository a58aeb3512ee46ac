import { signal } from "@preact/signals";
import { CHANNEL_KINDS } from "#modules/notifications/channels/rules/routes";
import { inOrganization, read } from "../../api";
import { type Member, nameOf } from "../people/types";
import type { Connection, Target } from "./types";

/** Connections and members that routes can lead to. */
export const targets = signal<{ connections: Connection[]; members: Member[] }>({ connections: [], members: [] });

export async function readTargets() {
  const [connections, members] = await Promise.all([readAll<Connection>("core", "connections"), readAll<Member>("members")]);
  targets.value = {
    connections: connections.filter(({ kind }) => (CHANNEL_KINDS as readonly string[]).includes(kind)),
    members: members.filter(({ userId }) => userId !== null),
  };
}

async function readAll<Row>(...path: string[]) {
  const rows: Row[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: { items: Row[]; nextCursor: string | null } = await read(inOrganization(...path), { limit: 100, cursor });
    rows.push(...page.items);
    cursor = page.nextCursor;
  }
  return rows;
}

/** Where a route leads, in words. */
export function describeTarget({ connectionId, userIds, role }: Target) {
  const { connections, members } = targets.value;
  if (connectionId !== undefined) return connections.find(({ id }) => id === connectionId)?.name ?? "A connection";
  if (role !== undefined) return role === "ORG_ADMIN" ? "All administrators" : "All members";
  const names = (userIds ?? []).map((userId) => members.find((each) => each.userId === userId)).flatMap((member) => (member ? nameOf(member) : []));
  return names.join(", ") || `${userIds?.length} members`;
}
