import type { Keyring } from "#crypto/keyring";
import { sha256 } from "#crypto/sha256";
import { fromHex, type Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { identityOf, isStatusProven } from "#modules/certificates/certificates/queries/stamps";
import { keyContext } from "#modules/certificates/certificates/rules/key-context";
import { type Order, orderOf, removalOf } from "#modules/fleet/assignments/queries/stamps";
import { type AskedKey, isRequestProven } from "#modules/issuance/requests/queries/asked-keys";
import { challengeFacts } from "#modules/issuance/requests/queries/challenge-facts";
import { fingerprintIn, isChainOf } from "#x509/stored";
import { type Asking, type Item, readAssignments, type UnprovenNews } from "../queries/desired-state";

type Secrets = { keyring: Keyring; stamps: Stamps };
type Desired = { tag: string; json: string; holding: UnprovenNews };

/**
 * Returns the agent's assignments with the tag of the same snapshot; `keep` has those that no stamp proves. Undefined when the
 * agent was deleted; `played back` for a repeated request.
 */
export async function findDesiredState(
  sql: Sql,
  { keyring, stamps }: Secrets,
  asking: Asking,
  requestId: string | null,
  isSent: boolean,
): Promise<Desired | "played back" | undefined> {
  const snapshot = await readAssignments(sql, asking, requestId, isSent);
  if (!snapshot) return;
  if (!snapshot.isFresh) return "played back";
  const judged = snapshot.items.map((item) => ({ item, ...judge(stamps, asking, item) }));
  const itemsTo = (what: Verdict["to"]) => judged.filter(({ to }) => to === what).map(({ item }) => item);
  const held = itemsTo("hold");
  const write = ({ json, fingerprint, sealedKey }: Item) => {
    const key = sealedKey && `${keyring.unseal(sealedKey, keyContext(asking.organizationId, fingerprint)).trimEnd()}\n`;
    return `${json.slice(0, -1)}, "privateKeyPem": ${JSON.stringify(key)}}`;
  };
  const proven = snapshot.keys.filter((key) => isRequestProven(stamps, key));
  const keys = proven.map(({ request }) => request);
  const challenges = proven.flatMap((key) => key.challenges.filter((each) => isAsked(stamps, each)).map(({ challenge }) => challenge));
  const keep = JSON.stringify([...itemsTo("keep"), ...held].map(({ id }) => id));
  return {
    tag: held.length === 0 ? snapshot.tag : sha256(`${snapshot.tag} but ${held.map(({ id }) => id)}`),
    json: `{"items":[${itemsTo("install").map(write)}],"keep":${keep},"remove":[${itemsTo("remove").map(write)}],"keys":${JSON.stringify(keys)},"challenges":${JSON.stringify(challenges)}}`,
    holding: {
      held: judged.flatMap(({ item, why }) => (why !== undefined && !item.isUnproven ? { id: item.id, why } : [])),
      released: judged.flatMap(({ item, why }) => (why === undefined && item.isUnproven ? item.id : [])),
    },
  };
}

/** Returns whether a server got the challenge from the CA: a host shows no other for its names. */
const isAsked = (stamps: Stamps, { facts, stamp }: AskedKey["challenges"][number]) => stamps.hold(fromHex(stamp), challengeFacts(facts));

/** The server's decision on an assignment at a poll; `held` leaves the host as it is, because no stamp proves the assignment. */
type Verdict = { to: "install" | "remove" | "keep" | "leave out" | "hold"; why?: string };

type Sent = Omit<Order, "organizationId" | "agentId" | "policyId" | "enabled"> & {
  fingerprintSha256: string;
  pem: string;
  chain: string[];
  config: { removeOnRevoke?: boolean };
};
type Agent = { organizationId: string; id: string };

function judge(stamps: Stamps, agent: Agent, item: Item): Verdict {
  const sent: Sent = JSON.parse(item.json);
  const why = stamps.isTrusting("assignment") ? undefined : whyUnproven(stamps, agent, item, sent);
  if (why !== undefined) return { to: "hold", why };
  if (item.isRemoving) return { to: "remove" };
  if (!item.enabled) return { to: "leave out" };
  if (item.status === "active") return { to: "install" };
  return { to: sent.config.removeOnRevoke === false ? "keep" : "leave out" };
}

/** The first proof that is missing. A removal needs no other than its own: the agent removes what it has of that id. */
function whyUnproven(stamps: Stamps, { organizationId, id: agentId }: Agent, item: Item, sent: Sent) {
  const order: Order = { ...sent, organizationId, agentId, policyId: item.policyId, enabled: item.enabled };
  if (item.isRemoving) return stamps.hold(item.removalStamp, removalOf(order)) ? undefined : "no server ordered its removal";
  if (!stamps.hold(item.stamp, orderOf(order))) return "no server ordered it as it is";
  const { fingerprintSha256, pem, chain } = sent;
  const id = String(order.certificateId);
  if (!stamps.hold(item.certificateStamp, identityOf({ organizationId, id, fingerprintSha256 }))) return "its certificate is not the one that was imported";
  if (!isStatusProven(stamps, item.statusStamp, { organizationId, fingerprintSha256, ...item })) return "no server gave its certificate this status";
  if (fingerprintIn(pem) !== fingerprintSha256) return "the PEM of its certificate is another certificate";
  if (!isChainOf(pem, chain)) return "the issuers of its certificate did not sign it";
}
