import { signal } from "@preact/signals";
import { CHANNEL_KINDS } from "#modules/notifications/channels/rules/routes";
import { inOrganization } from "../../api";
import { nameOfUser, readMembers } from "../../members";
import { readAll } from "../../reading";
import type { Connection } from "../connections/types";
import type { Target } from "./types";

/** Connections that routes can lead to. */
export const channels = signal<Connection[]>([]);

export async function readTargets() {
  const [connections] = await Promise.all([readAll(inOrganization("core", "connections")), readMembers()]);
  channels.value = connections.filter(({ kind }) => CHANNEL_KINDS.some((each) => each === kind));
}

/** Returns the target of a route in words. */
export function describeTarget({ connectionId, userIds, role }: Target) {
  if (connectionId !== undefined) return channels.value.find(({ id }) => id === connectionId)?.name ?? "A connection";
  if (role !== undefined) return role === "ORG_ADMIN" ? "All administrators" : "All members";
  const names = (userIds ?? []).flatMap((userId) => nameOfUser(userId) ?? []);
  return names.join(", ") || `${userIds?.length} members`;
}
