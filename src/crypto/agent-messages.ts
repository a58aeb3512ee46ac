import { type Component, digestOf } from "./message-signature";

/** Returns the parts of a request that an agent signs: method, path (without a proxy's prefix), credential, nonce and body. */
export function requestComponents({ method, path, nonce, authorization, body }: SignedRequest): Component[] {
  return [
    ["@method", method],
    ["certitude-path", path],
    ["certitude-nonce", nonce],
    ...(authorization === undefined ? [] : [["authorization", authorization] as const]),
    ...(body === undefined ? [] : [["content-digest", digestOf(body)] as const]),
  ];
}

type SignedRequest = {
  method: string;
  path: string;
  /** A UUIDv7, so that of two requests the later one has the greater. */
  nonce: string;
  authorization: string | undefined;
  /** None for a method that has no body. */
  body: string | Uint8Array | undefined;
};

type StateOf = { organizationId: string; agentId: string; tag: string; nonce: string };

/** For whom a desired state is, which one, and in answer to which request. */
export const writeStateHeader = ({ organizationId, agentId, tag, nonce }: StateOf) =>
  `organization="${organizationId}", agent="${agentId}", tag="${tag}", nonce="${nonce}"`;

const STATE = /^organization="([0-9a-f-]{36})", agent="([0-9a-f-]{36})", tag="([0-9a-f]{64})", nonce="([0-9a-f-]{36})"$/;

/** Returns what `certitude-state` says, undefined where it is not in that form. */
export function readStateHeader(value: string | null): StateOf | undefined {
  const [, organizationId, agentId, tag, nonce] = STATE.exec(value ?? "") ?? [];
  return organizationId && agentId && tag && nonce ? { organizationId, agentId, tag, nonce } : undefined;
}

/** Returns the parts of a desired state that the server signs; a 304 has no content, the agent has it. */
export const stateComponents = (status: number, state: string, content: string | undefined): Component[] => [
  ["@status", String(status)],
  ["certitude-state", state],
  ...(content === undefined ? [] : [["unencoded-digest", digestOf(content)] as const]),
];

/** Returns the text by which a signing key endorses its successor. */
export const endorsementOf = (organizationId: string, publicKey: string) => `certitude signing key of ${organizationId}: ${publicKey}`;
