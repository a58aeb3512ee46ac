type Slice = { label: string; value: number; tone: string };

const RADIUS = 42;
const LENGTH = 2 * Math.PI * RADIUS;

/** Parts of a whole as a ring, with its legend: the numbers are in words too. */
export function Ring({ label, slices, middle }: { label: string; slices: Slice[]; middle: string }) {
  const total = slices.reduce((sum, { value }) => sum + value, 0);
  let before = 0;
  return (
    <div class="ring">
      <svg viewBox="0 0 100 100" role="img" aria-label={`${label}: ${slices.map((slice) => `${slice.label} ${slice.value}`).join(", ")}`}>
        <circle class="ring-track" cx="50" cy="50" r={RADIUS} />
        {slices.map(({ label: name, value, tone }) => {
          const length = total === 0 ? 0 : (value / total) * LENGTH;
          const offset = -before;
          before += length;
          return (
            <circle
              key={name}
              class={`ring-part ${tone}`}
              cx="50"
              cy="50"
              r={RADIUS}
              stroke-dasharray={`${length} ${LENGTH}`}
              stroke-dashoffset={offset}
              transform="rotate(-90 50 50)"
            />
          );
        })}
        <text x="50" y="55" text-anchor="middle">
          {middle}
        </text>
      </svg>
      <Legend slices={slices} />
    </div>
  );
}

const Legend = ({ slices }: { slices: Slice[] }) => (
  <ul class="legend">
    {slices.map(({ label, value, tone }) => (
      <li key={label}>
        <i class={`swatch ${tone}`} />
        {label}
        <b>{value.toLocaleString()}</b>
      </li>
    ))}
  </ul>
);
