import { Badge, type Tone } from "../../parts/badge";
import { serverNow } from "../../server-time";
import type { Agent, Deployment, Labels } from "./types";

const MINUTE_MS = 60_000;
/** As GET fleet/summary counts them where nothing is said. */
const [LATE_MS, SILENT_MS] = [15 * MINUTE_MS, 1_440 * MINUTE_MS];

/** Says how long ago the agent was seen. */
export function Health({ of: { lastSeenAt } }: { of: Pick<Agent, "lastSeenAt"> }) {
  const silence = lastSeenAt === null ? Number.POSITIVE_INFINITY : serverNow() - Date.parse(lastSeenAt);
  if (silence >= SILENT_MS) return <Badge tone="bad" icon="warning" text="silent" />;
  return silence >= LATE_MS ? <Badge tone="warn" icon="clock" text="late" /> : <Badge tone="good" text="online" />;
}

export const STATE_TONES: Record<string, Tone> = {
  pending: "info",
  installed: "good",
  failed: "bad",
  drifted: "warn",
  removed: "calm",
  refused: "bad",
  kept: "warn",
};

export const ReportedState = ({ state }: { state: string }) => <Badge tone={STATE_TONES[state] ?? "calm"} text={state} />;

type Standing = Pick<Deployment, "state" | "enabled" | "removingSince" | "heldSince" | "message">;

/** The state of an assignment: the agent's last report, unless it is being removed, held or switched off. */
export const DeploymentState = ({ of: { state, enabled, removingSince, heldSince, message } }: { of: Standing }) => (
  <span title={message ?? ""}>
    {heldSince ? (
      <Badge tone="bad" icon="warning" text="held" />
    ) : removingSince ? (
      <Badge tone="info" text="removing" />
    ) : enabled ? (
      <ReportedState state={state} />
    ) : (
      <Badge tone="calm" text="switched off" />
    )}
  </span>
);

export const LabelList = ({ of }: { of: Labels }) =>
  Object.keys(of).length === 0 ? (
    <span class="none">none</span>
  ) : (
    <span class="labels">
      {Object.entries(of).map(([key, value]) => (
        <code key={key}>{`${key}=${value}`}</code>
      ))}
    </span>
  );
