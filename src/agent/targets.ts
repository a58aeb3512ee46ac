import { hostname } from "node:os";
import { isDeepStrictEqual } from "node:util";
import type { TObject } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { DesiredState } from "#modules/fleet/agent-protocol/schema";
import { completeConfig, storesFor, unknownMaterial } from "#modules/fleet/assignments/rules";
import type { AssignmentConfig } from "#modules/fleet/assignments/schema/assignments";
import { withPreset } from "#modules/fleet/trust-stores/rules/presets";
import { KeyRequest } from "#modules/issuance/requests/schema/host-keys";
import type { Host } from "./host/host";
import type { Desired } from "./server-client";
import { isInSystemStore, type Target } from "./store";

const Schema = DesiredState.properties.items.items;

/** Checks and returns an assignment's fields: this host does not rely on the server's checks. */
export function readTarget(item: Desired): Target {
  expectUnderstood(Schema, { keyOnHost: false, ...item });
  return targetOf(item);
}

/** The same for the assignment that a key is made for. */
export function readKeyRequest(request: KeyRequest): Target {
  const { assignment } = request;
  expectUnderstood(KeyRequest, { ...request, assignment: Object.fromEntries(ownFields(KeyRequest.properties.assignment, assignment)) });
  if (!assignment.materialType.endsWith("_certificate")) throw new Error("A private key is made for a server's or client's own certificate alone.");
  return targetOf(assignment);
}

const ownFields = (schema: TObject, sent: object) => Object.entries(sent).filter(([name]) => name in schema.properties);

/** Throws for a field that this agent does not understand; fields that only newer agents know are left out before. */
export function expectUnderstood(schema: TObject, sent: object) {
  const [fault] = Value.Errors(schema, Object.fromEntries(ownFields(schema, sent)));
  if (fault) throw new Error(`The agent does not understand ${fault.path.slice(1)} of what the server sent (${fault.message}). Is it older than the server?`);
}

function targetOf({ id, trustStoreType, materialType, config: given }: Pick<Desired, "id" | "trustStoreType" | "materialType" | "config">): Target {
  if (!storesFor(materialType).includes(trustStoreType)) throw new Error(unknownMaterial(trustStoreType).replace("body.", ""));
  const checked = completeConfig(trustStoreType, given);
  if ("invalid" in checked) throw new Error(checked.invalid.replace("body.", ""));
  const config = trustStoreType === "pem_files" ? withPreset(checked.config, hostname()) : checked.config;
  return { assignmentId: id, storeType: trustStoreType, materialType, alias: config.alias ?? `certitude-${id}`, config };
}

/** The fields whose change needs no new installation. */
const NOT_PLACE: (keyof AssignmentConfig)[] = [
  "autoRenew",
  "removeOnRevoke",
  "reloadCommand",
  "storePasswordRef",
  "verifyEndpoint",
  "verifyServerName",
  "verifyStartTls",
  "fileOwner",
  "fileGroup",
  "keyPermissionMode",
];

export function isSamePlace(one: Target, other: Target) {
  const placeOf = ({ config, ...rest }: Target) => [
    rest,
    Object.entries(config)
      .filter(([name]) => !NOT_PLACE.includes(name as keyof AssignmentConfig))
      .toSorted(),
  ];
  return isDeepStrictEqual(placeOf(one), placeOf(other));
}

/** The stores that may put their anchor among the system's, whatever their config says. */
const SYSTEM_STORES: string[] = ["linux_update_ca_certificates", "linux_update_ca_trust", "python_certifi"];

/**
 * Returns whether it lies, lay or may lie in the system's store. Such items go first and in one turn: the tool runs once for
 * all, and other stores take their public roots from there.
 */
export function mayLieInSystemStore(item: Desired | undefined, former: Target | undefined, host: Host) {
  const places = [former, item && { storeType: item.trustStoreType, config: item.config ?? {} }];
  return places.some((each) => each && (SYSTEM_STORES.includes(each.storeType) || isInSystemStore(each, host)));
}
