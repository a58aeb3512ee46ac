type Bar = { label: string; value: number; tone?: string; href?: string };

/** Numbers side by side, each with its name and value in words. */
export function Bars({ label, bars }: { label: string; bars: Bar[] }) {
  const largest = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <ul class="bars" aria-label={label}>
      {bars.map(({ label: name, value, tone = "accent", href }) => (
        <li key={name}>
          {href ? <a href={href}>{name}</a> : <span>{name}</span>}
          <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect class="bar-track" width="100" height="8" rx="1" />
            <rect class={`bar ${tone}`} width={(value / largest) * 100} height="8" rx="1" />
          </svg>
          <b>{value.toLocaleString()}</b>
        </li>
      ))}
    </ul>
  );
}
