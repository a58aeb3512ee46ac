import { describeMoment, type EventGroup, type KindOf, nameFirst } from "./kind";

type AssignmentFacts = { agentId: string; agentName: string; commonName: string; reason?: string | null };
type AgentFacts = { name: string; lastSeenAt: string };
type RolloutFacts = { name: string; reason?: string | null };

const because = (reason: string | null | undefined) => (reason ? ` ${reason}` : "");
const agents = ({ items, count }: EventGroup<AssignmentFacts>) => `${nameFirst([...new Set(items.map(({ agentName }) => agentName))], count)}.`;

const ofAssignment = {
  audience: "ORG_ADMIN",
  path: { one: (id: string, { agentId }: AssignmentFacts) => `/agents/${agentId}/assignments/${id}`, many: () => "/deployments" },
} as const;
const example: AssignmentFacts = {
  agentId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01",
  agentName: "web-1",
  commonName: "Example Root",
  reason: "The disk is full.",
};

const failed: KindOf<AssignmentFacts> = {
  ...ofAssignment,
  severity: "critical",
  mail: "at_once",
  begins: { condition: "assignment failure" },
  one: ({ agentName, commonName, reason }) => ({
    title: `${commonName} could not be installed on ${agentName}`,
    message: `The agent ${agentName} could not install ${commonName}.${because(reason)}`,
  }),
  many: (group) => ({ title: `${group.count} installations failed`, message: `On ${agents(group)}` }),
  example,
};

const drifted: KindOf<AssignmentFacts> = {
  ...ofAssignment,
  severity: "warning",
  mail: "daily",
  one: ({ agentName, commonName, reason }) => ({
    title: `${commonName} was changed on ${agentName}`,
    message: `Something else than the agent has changed ${commonName} on ${agentName}.${because(reason)}`,
  }),
  many: (group) => ({ title: `${group.count} installed certificates were changed`, message: `On ${agents(group)}` }),
  example: { ...example, reason: "It was missing and has been installed again." },
};

const refused: KindOf<AssignmentFacts> = {
  ...ofAssignment,
  severity: "warning",
  mail: "at_once",
  begins: { condition: "assignment refusal" },
  one: ({ agentName, commonName, reason }) => ({
    title: `${agentName} refuses ${commonName}`,
    message: `The agent ${agentName} refuses to install ${commonName}.${because(reason)}`,
  }),
  many: (group) => ({ title: `${group.count} installations are refused`, message: `On ${agents(group)}` }),
  example: { ...example, reason: "Its local policy does not allow this store." },
};

const silent: KindOf<AgentFacts> = {
  severity: "critical",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "agent silence" },
  one: ({ name, lastSeenAt }) => ({ title: `The agent ${name} is silent`, message: `The agent ${name} was last seen on ${describeMoment(lastSeenAt)}.` }),
  many: ({ items, count }) => ({
    title: `${count} agents are silent`,
    message: `${nameFirst(
      items.map(({ name }) => name),
      count,
    )}.`,
  }),
  path: { one: (id) => `/agents/${id}`, many: () => "/agents" },
  example: { name: "web-1", lastSeenAt: "2030-01-15T12:00:00.000Z" },
};

const ofRollout = { audience: "ORG_ADMIN", mail: "at_once", path: { one: (id: string) => `/rollouts/${id}`, many: () => "/rollouts" } } as const;
const names = ({ items, count }: EventGroup<RolloutFacts>) =>
  `${nameFirst(
    items.map(({ name }) => name),
    count,
  )}.`;

const halted: KindOf<RolloutFacts> = {
  ...ofRollout,
  severity: "critical",
  begins: { condition: "rollout halt" },
  one: ({ name, reason }) => ({ title: `The rollout ${name} was halted`, message: `The rollout ${name} was halted.${because(reason)}` }),
  many: (group) => ({ title: `${group.count} rollouts were halted`, message: names(group) }),
  example: { name: "New root", reason: "3 of 50 installations failed." },
};

const finished: KindOf<RolloutFacts> = {
  ...ofRollout,
  severity: "info",
  mail: "daily",
  ends: { condition: "rollout halt", always: true },
  one: ({ name }) => ({ title: `The rollout ${name} has finished`, message: `The rollout ${name} has reached every agent.` }),
  many: (group) => ({ title: `${group.count} rollouts have finished`, message: names(group) }),
  example: { name: "New root" },
};

export const FLEET_KINDS = {
  assignment_failed: failed,
  assignment_drifted: drifted,
  assignment_refused: refused,
  agent_silent: silent,
  rollout_halted: halted,
  rollout_finished: finished,
};
