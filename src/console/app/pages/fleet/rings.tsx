import { Badge } from "../../parts/badge";
import { STATUS_TONES } from "./rollout-status";
import type { Ring } from "./types";

const PARTS = [
  ["observed", "good", "have it"],
  ["failed", "bad", "failed"],
  ["pending", "calm", "pending"],
] as const;

/** How far each ring is: a bar that moves as agents report, and its numbers in words. */
export const Rings = ({ of }: { of: Ring[] }) => (
  <ol class="rings">
    {of.map((ring, index) => (
      <li key={index}>
        <div class="ring-top">
          <b>Ring {index + 1}</b>
          <span>
            {ring.share < 1 && `${percent(ring.share)} of `}
            {ring.selector === null ? "all agents" : <code>{ring.selector}</code>}
          </span>
          <Badge tone={STATUS_TONES[ring.state]} text={ring.state} />
        </div>
        <Bar of={ring} />
        <p class="fine">{describe(ring)}</p>
      </li>
    ))}
  </ol>
);

function Bar({ of }: { of: Ring }) {
  let before = 0;
  return (
    <svg class="ring-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="bar-track" width="100" height="8" />
      {PARTS.slice(0, 2).map(([part, tone]) => {
        const width = of.agents === 0 ? 0 : (of[part] / of.agents) * 100;
        const x = before;
        before += width;
        return <rect key={part} class={`bar ${tone}`} x={x} width={width} height="8" />;
      })}
    </svg>
  );
}

function describe(ring: Ring) {
  if (ring.agents === 0) return ring.state === "waiting" ? "Its agents are counted when it opens" : "No agents";
  return `${ring.agents} ${ring.agents === 1 ? "agent" : "agents"}: ${PARTS.map(([part, , words]) => `${ring[part]} ${words}`).join(", ")}`;
}

export const percent = (share: number) => `${Number((share * 100).toFixed(2))} %`;
