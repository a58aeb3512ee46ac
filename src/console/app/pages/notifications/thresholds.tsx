import { Icon } from "../../parts/icon";
import type { Threshold } from "./types";

type Props = { label: string; of: Threshold[]; onChange: (thresholds: Threshold[]) => void };

/** Days before the end, and shares of the lifetime in percent. */
export function Thresholds({ label, of, onChange }: Props) {
  const set = (index: number, changed: Partial<Threshold>) => onChange(of.map((each, place) => (place === index ? { ...each, ...changed } : each)));
  return (
    <div class="thresholds">
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Days</th>
            <th scope="col">Share left, %</th>
            <th scope="col">
              <span class="hidden">Remove</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {of.map(({ days, share = 1 }, index) => (
            <tr key={index}>
              <td>
                <input
                  type="number"
                  min={1}
                  max={3650}
                  required
                  aria-label={`${label}: days, ${index + 1}`}
                  value={days}
                  onChange={({ currentTarget }) => set(index, { days: currentTarget.valueAsNumber })}
                />
              </td>
              <td>
                <input
                  type="number"
                  min={0.1}
                  max={100}
                  step="any"
                  required
                  aria-label={`${label}: share, ${index + 1}`}
                  value={toPercent(share)}
                  onChange={({ currentTarget }) => set(index, { share: currentTarget.valueAsNumber / 100 })}
                />
              </td>
              <td>
                <button
                  class="quiet"
                  type="button"
                  aria-label={`${label}: remove ${days} days`}
                  disabled={of.length === 1}
                  onClick={() => onChange(of.toSpliced(index, 1))}
                >
                  <Icon name="cross" />
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" onClick={() => onChange([...of, { days: nextOf(of), share: 1 }])}>
        <Icon name="plus" /> Add days
      </button>
    </div>
  );
}

/** With two digits, as a person reads it; a share that is left alone is sent as it was. */
const toPercent = (share: number) => Math.round(share * 10_000) / 100;

/** A number of days that is not among them yet. */
function nextOf(of: Threshold[]) {
  const days = new Set(of.map((each) => each.days));
  for (let next = 1; ; next++) if (!days.has(next)) return next;
}
