import type { Tone } from "../../parts/badge";
import type { NewAssignment } from "./assignment-form";

type RolloutStatus = "running" | "halted" | "completed" | "rolling_back" | "rolled_back";

export type RolloutSummary = {
  id: string;
  name: string;
  status: RolloutStatus;
  reason: string | null;
  certificateId: string;
  predecessorId: string | null;
  assignment: NewAssignment | null;
  haltShare: number | null;
  successShare: number;
  heldSince: string | null;
  version: number;
  createdAt: string;
  updatedAt: string;
  rings: { selector: string | null; share: number }[];
};

export type Ring = RolloutSummary["rings"][number] & {
  state: "waiting" | "open" | "done" | "rolling_back" | "rolled_back";
  agents: number;
  observed: number;
  failed: number;
  pending: number;
};

type FailingAgent = { agentId: string; agentName: string; assignmentId: string; state: string; message: string | null };

export type Rollout = Omit<RolloutSummary, "rings"> & {
  rings: Ring[];
  skipped: number;
  rollback: { pending: number; failing: FailingAgent[] } | null;
};

export const STATUS_TONES: Record<RolloutStatus | Ring["state"], Tone> = {
  running: "info",
  halted: "bad",
  completed: "good",
  rolling_back: "warn",
  rolled_back: "calm",
  waiting: "calm",
  open: "info",
  done: "good",
};
