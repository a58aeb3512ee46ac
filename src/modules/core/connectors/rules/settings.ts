import { checkFields, type Values } from "#catalogue/fields";
import { mergePatch } from "#catalogue/merge-patch";
import { bareHostFault, hostFault } from "#outbound/address-policy";
import { destinationFault } from "./destination";
import { connectorOf } from "./kinds";
import { needsFault } from "./needs";

export type Settings = { config: Values; secrets: Values };

export const MAX_CONFIG_TEXT = 2_000;
export const MAX_SECRET = 16_000;

/** The config and secrets of a new connection as its kind wants them, or the first fault. */
export function readSettings(kind: string, given: Settings, allowPrivate: boolean): Settings | { invalid: string } {
  const read = readFields(kind, given, allowPrivate);
  const invalid = "invalid" in read ? undefined : needsFault(connectorOf(kind), read);
  return invalid === undefined ? read : { invalid };
}

function readFields(kind: string, given: Settings, allowPrivate: boolean): Settings | { invalid: string } {
  const { configFields, secretFields } = connectorOf(kind);
  const uriFault = allowPrivate ? undefined : (url: URL) => hostFault(url.hostname);
  const config = checkFields(configFields, given.config, { at: "body.config", owner: kind, maxText: MAX_CONFIG_TEXT, ...(uriFault && { uriFault }) });
  if ("invalid" in config) return config;
  const fault = typeof config.values.host === "string" ? bareHostFault(config.values.host, allowPrivate) : undefined;
  if (fault) return { invalid: `body.config.host ${fault}.` };
  const secrets = checkFields(secretFields, given.secrets, { at: "body.secrets", owner: kind, maxText: MAX_SECRET, ...(uriFault && { uriFault }) });
  return "invalid" in secrets ? secrets : { config: config.values, secrets: secrets.values };
}

type Patch = { name?: string | undefined; config?: Values | undefined; secrets?: Values | undefined };
type Current = { kind: string; name: string; config: Values; secretNames: string[]; secrets: Values };

/** Returns the connection after a patch and its new parts; `undefined` when nothing changes. */
export function applyPatch({ kind, ...current }: Current, { name = current.name, ...patch }: Patch, allowPrivate: boolean) {
  const merged = { config: mergePatch(current.config, patch.config ?? {}), secrets: mergePatch(current.secrets, patch.secrets ?? {}) };
  const read = readFields(kind, merged, allowPrivate);
  if ("invalid" in read) return read;
  const isRenaming = patch.config === undefined && patch.secrets === undefined; // also of one that was made before its kind had needs
  const invalid = destinationFault({ kind, ...current }, read.config, patch.secrets) ?? (isRenaming ? undefined : needsFault(connectorOf(kind), read));
  if (invalid) return { invalid };
  const next = { name, ...read };
  const changed = (["name", "config", "secrets"] as const).filter((part) => !Bun.deepEquals(next[part], current[part]));
  return { next, changed };
}
