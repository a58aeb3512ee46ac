import { utc } from "../time";
import { scale } from "./scale";

type Mark = { id: string; label: string; at: string; tone: string; href: string };
type Props = { label: string; marks: Mark[]; from: Date; to: Date };

const [WIDTH, HEIGHT, EDGE] = [800, 120, 12];
const MONTH = new Intl.DateTimeFormat(undefined, { month: "short" });

/** Moments on a line, each a link; those that fall together are stacked. */
export function Timeline({ label, marks, from, to }: Props) {
  const x = scale([from.getTime(), to.getTime()], [EDGE, WIDTH - EDGE]);
  const stacks = new Map<number, number>();
  return (
    <figure class="chart timeline">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`}>
        <title>{label}</title>
        <line class="axis" x1={EDGE} x2={WIDTH - EDGE} y1={HEIGHT - 24} y2={HEIGHT - 24} />
        {monthsBetween(from, to).map((month) => (
          <g key={month.getTime()}>
            <line class="grid" x1={x(month.getTime())} x2={x(month.getTime())} y1="8" y2={HEIGHT - 24} />
            <text x={x(month.getTime())} y={HEIGHT - 6} text-anchor="middle">
              {MONTH.format(month)}
            </text>
          </g>
        ))}
        {marks.map(({ id, label: name, at, tone, href }) => {
          const place = Math.round(x(Date.parse(at)) / 14) * 14;
          const height = stacks.get(place) ?? 0;
          stacks.set(place, height + 1);
          return (
            <a key={id} href={href} aria-label={`${name}, ${utc(at)}`}>
              <circle class={`mark ${tone}`} cx={place} cy={HEIGHT - 34 - Math.min(height, 5) * 14} r="5.5">
                <title>{`${name}, ${utc(at)}`}</title>
              </circle>
            </a>
          );
        })}
      </svg>
    </figure>
  );
}

function monthsBetween(from: Date, to: Date) {
  const months: Date[] = [];
  for (let month = new Date(from.getFullYear(), from.getMonth() + 1, 1); month < to; month = new Date(month.getFullYear(), month.getMonth() + 1, 1))
    months.push(month);
  return months;
}
