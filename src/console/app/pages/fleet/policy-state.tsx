import { Badge, type Tone } from "../../parts/badge";
import type { Policy } from "./types";

const TONES: Record<Policy["state"], Tone> = {
  applying: "info",
  applied: "good",
  rolling_out: "info",
  halted: "bad",
  rolling_back: "warn",
  rolled_back: "calm",
};

export const nameOfPolicy = ({ name, applicationId, trustStoreType }: Policy) => name ?? `${applicationId} in ${trustStoreType}`;

/** How far a policy is, unless it is held or switched off. */
export function PolicyState({ of: { state, enabled, heldSince } }: { of: Policy }) {
  if (heldSince) return <Badge tone="bad" icon="warning" text="held" />;
  return enabled ? <Badge tone={TONES[state]} text={state} /> : <Badge tone="calm" text="switched off" />;
}

export const Selector = ({ of }: { of: string | null }) => (of === null ? <>all agents</> : <code>{of}</code>);
