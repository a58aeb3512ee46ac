import type { Signal } from "@preact/signals";
import { Icon } from "../../parts/icon";

export type NewRing = { selector: string; percent: string };

/** The rings as the API takes them; throws a sentence for a share that is none. */
export const readRings = (rings: NewRing[]) =>
  rings.map(({ selector, percent }, index) => {
    const share = Number(percent) / 100;
    if (!(share > 0 && share <= 1)) throw new Error(`Ring ${index + 1}: its part must be more than 0 and at most 100 %.`);
    return { ...(selector.trim() && { selector: selector.trim() }), share };
  });

/** Rings in their order: which agents, and what part of them. */
export function RingsEditor({ rings }: { rings: Signal<NewRing[]> }) {
  const change = (at: number, patch: Partial<NewRing>) => {
    rings.value = rings.value.map((ring, index) => (index === at ? { ...ring, ...patch } : ring));
  };
  const remove = (at: number) => {
    if (rings.value.length > 1) rings.value = rings.value.filter((_, index) => index !== at);
  };
  return (
    <fieldset class="rings-editor">
      <legend>Rings</legend>
      {rings.value.map(({ selector, percent }, index) => (
        <div class="ring-row" key={index}>
          <label>
            <span>Agents of ring {index + 1}</span>
            <input value={selector} placeholder="all agents" onInput={({ currentTarget }) => change(index, { selector: currentTarget.value })} />
          </label>
          <label>
            <span>Part in %</span>
            <input inputMode="decimal" value={percent} onInput={({ currentTarget }) => change(index, { percent: currentTarget.value })} />
          </label>
          <button class="quiet" type="button" aria-label={`Remove ring ${index + 1}`} aria-disabled={rings.value.length === 1} onClick={() => remove(index)}>
            <Icon name="cross" />
          </button>
        </div>
      ))}
      <button type="button" onClick={() => (rings.value = [...rings.value, { selector: "", percent: "100" }])}>
        <Icon name="plus" /> Add a ring
      </button>
      <p class="fine">Labels as in the list of agents, such as env=prod,tier!=edge. An agent is in the first ring that finds it and takes it.</p>
    </fieldset>
  );
}
