import { STATES } from "#modules/fleet/assignments/schema/history";

/** The states of a deployment; pending: the agent has not reported yet. */
export const DEPLOYMENT_STATES = ["pending", ...STATES] as const;

/** When an agent is late, and when it is silent, unless a request says otherwise. */
export const HEALTH = { lateAfterMinutes: 15, silentAfterMinutes: 1_440 };
