import { describeMoment, type KindOf, nameFirst } from "./kind";

const NAMES: Record<string, [one: string, many: string]> = {
  assignments: ["assignment", "assignments"],
  policies: ["assignment policy", "assignment policies"],
  rollouts: ["rollout", "rollouts"],
  agents: ["agent", "agents"],
  members: ["member", "members"],
  apiTokens: ["API token", "API tokens"],
};

type HeldFacts = { held: Record<string, number> };

/** Returns "2 agents, 1 member". */
function describeHeld({ held }: HeldFacts) {
  const named = Object.entries(held).map(([what, count]) => `${count} ${NAMES[what]?.[count === 1 ? 0 : 1] ?? what}`);
  return nameFirst(named, named.length);
}

const heldWords = (facts: HeldFacts) => ({
  title: "Something is held",
  message: `Nothing proves that a server ordered what the database says of ${describeHeld(facts)}: hosts keep what they have, and who is held is no admin. Ask who administers the server to look at it, and to run certitude secrets trust.`,
});

const held: KindOf<HeldFacts> = {
  severity: "critical",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "held rows" },
  one: heldWords,
  many: ({ items: [first] }) => heldWords(first ?? { held: {} }),
  path: { one: () => "/agents", many: () => "/agents" },
  example: { held: { assignments: 3, members: 1 } },
};

type UpgradeFacts = { until: string };
const upgradeWords = ({ until }: UpgradeFacts) => ({
  title: "The server was upgraded",
  message: `Until ${describeMoment(until)} what the release before writes counts without a stamp. By then every server should run the new release: what it writes later is held.`,
});

const upgrade: KindOf<UpgradeFacts> = {
  severity: "info",
  audience: "ORG_ADMIN",
  mail: "off",
  begins: { condition: "upgrade" },
  one: upgradeWords,
  many: ({ items: [first] }) => upgradeWords(first ?? upgrade.example),
  path: { one: () => "/agents", many: () => "/agents" },
  example: { until: "2030-01-15T12:00:00.000Z" },
};

export const STAMPING_KINDS = { rows_held: held, upgrade_under_way: upgrade };
