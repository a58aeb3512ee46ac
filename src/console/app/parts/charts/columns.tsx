import { utc } from "../time";
import { scale, ticks } from "./scale";

type Column = { at: string; parts: { label: string; value: number; tone: string }[] };
type Props = { label: string; columns: Column[] };

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 220, 44, 24];
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

/** Counts over time as columns, in parts one above the other; the numbers are in the title of each column. */
export function Columns({ label, columns }: Props) {
  const sums = columns.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const range: [number, number] = [0, Math.max(1, ...sums)];
  const y = scale(range, [HEIGHT - BOTTOM, 8]);
  const step = (WIDTH - LEFT) / Math.max(1, columns.length);
  const named = Math.ceil(columns.length / 6);
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${label}: ${sums.map((sum, index) => `${columns[index]?.at.slice(0, 10)} ${sum}`).join(", ")}`}
      >
        {ticks(range, 4)
          .filter(Number.isInteger)
          .map((tick) => (
            <g key={tick}>
              <line class="grid" x1={LEFT} x2={WIDTH} y1={y(tick)} y2={y(tick)} />
              <text x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
                {tick.toLocaleString()}
              </text>
            </g>
          ))}
        {columns.map((column, index) => (
          <g key={column.at}>
            <OneColumn of={column} x={LEFT + index * step + step * 0.15} width={step * 0.7} y={y} />
            {index % named === 0 && (
              <text x={LEFT + (index + 0.5) * step} y={HEIGHT - 6} text-anchor={LEFT + index * step > WIDTH - 60 ? "end" : "middle"}>
                {DAY.format(Date.parse(column.at))}
              </text>
            )}
          </g>
        ))}
      </svg>
    </figure>
  );
}

type Drawn = { of: Column; x: number; width: number; y: (value: number) => number };

function OneColumn({ of: { at, parts }, x, width, y }: Drawn) {
  let below = 0;
  return (
    <g>
      <title>{`${utc(at)}: ${parts.map(({ label, value }) => `${label} ${value}`).join(", ")}`}</title>
      {parts.map(({ label, value, tone }) => {
        const [bottom, top] = [y(below), y(below + value)];
        below += value;
        return <rect key={label} class={`bar ${tone}`} x={x} width={width} y={top} height={bottom - top} rx={Math.min(2, width / 4)} />;
      })}
    </g>
  );
}
