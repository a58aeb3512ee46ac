import type { Tone } from "../../parts/badge";
import type { Ring, Rollout } from "./types";

export const STATUS_TONES: Record<Rollout["status"] | Ring["state"], Tone> = {
  running: "info",
  halted: "bad",
  completed: "good",
  rolling_back: "warn",
  rolled_back: "calm",
  waiting: "calm",
  open: "info",
  done: "good",
};
