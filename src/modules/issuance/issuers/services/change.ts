import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import type { StoredIssuer } from "../queries/issuers";
import { applyPatch } from "../rules/settings";
import type { IssuerPatch } from "../schema";
import { findAuthorityFault } from "./authority";
import { completeSecrets, openIssuer, sealSecrets } from "./secrets";

/** Returns what a patch makes of an issuer, or what is wrong with it. */
export async function decideChange(deps: Deps, tx: Sql, stored: StoredIssuer, patch: typeof IssuerPatch.static) {
  const { keyring, allowPrivateTargets } = deps.config;
  const opened = openIssuer(deps, stored);
  const current = { ...stored, secrets: "fault" in opened ? {} : opened.secrets };
  const read = applyPatch(current, patch, allowPrivateTargets);
  if ("invalid" in read) return read;
  const { name, config } = read.next;
  const fault = read.changed.includes("config") ? await findAuthorityFault(deps, tx, { ...stored, config }) : undefined;
  if (fault) return fault;
  const secrets = completeSecrets(stored.kind, read.next.secrets);
  const isNew = read.changed.includes("secrets") || secrets !== read.next.secrets;
  const changed = isNew ? [...new Set([...read.changed, "secrets"])] : read.changed;
  return {
    name,
    config,
    secrets: isNew ? { names: Object.keys(secrets), sealed: sealSecrets(keyring, secrets, stored) } : undefined,
    changed,
    isElsewhere: read.isElsewhere,
  };
}
