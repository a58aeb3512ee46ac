import { utc } from "../time";
import { scale, ticks } from "./scale";

type Point = { at: string; value: number };
type Props = { label: string; points: Point[]; limits?: { label: string; value: number }[] };

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 200, 48, 24];
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

/** A measured value over time, with the limits that it should keep. The points are a table too, for readers who cannot see lines. */
export function Series({ label, points, limits = [] }: Props) {
  const times = points.map(({ at }) => Date.parse(at));
  const values = [...points.map(({ value }) => value), ...limits.map(({ value }) => value)];
  const range: [number, number] = [Math.min(0, ...values), Math.max(...values, 0) * 1.1 || 1];
  const x = scale([Math.min(...times), Math.max(...times)], [LEFT, WIDTH - 8]);
  const y = scale(range, [HEIGHT - BOTTOM, 8]);
  const line = points.map(({ value }, index) => `${index === 0 ? "M" : "L"}${x(times[index] ?? 0).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        {ticks(range, 4).map((tick) => (
          <g key={tick}>
            <line class="grid" x1={LEFT} x2={WIDTH - 8} y1={y(tick)} y2={y(tick)} />
            <text x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
              {tick.toLocaleString()}
            </text>
          </g>
        ))}
        {[points[0], points.at(-1)].map(
          (point, index) =>
            point && (
              <text key={point.at} x={x(Date.parse(point.at))} y={HEIGHT - 6} text-anchor={index === 0 ? "start" : "end"}>
                {DAY.format(Date.parse(point.at))}
              </text>
            ),
        )}
        {limits.map((limit) => (
          <line key={limit.label} class="limit" x1={LEFT} x2={WIDTH - 8} y1={y(limit.value)} y2={y(limit.value)} />
        ))}
        <path class="line" d={line} />
        {points.length < 60 &&
          points.map(({ at, value }, index) => (
            <circle key={at} class="point" cx={x(times[index] ?? 0)} cy={y(value)} r="3">
              <title>{`${value} at ${utc(at)}`}</title>
            </circle>
          ))}
      </svg>
      <figcaption>
        {label}
        {limits.map((limit) => `; dashed: ${limit.label} ${limit.value.toLocaleString()}`)}
      </figcaption>
      <PointsTable points={points} />
    </figure>
  );
}

const PointsTable = ({ points }: { points: Point[] }) => (
  <details>
    <summary>As a table</summary>
    <table>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {points.map(({ at, value }) => (
          <tr key={at}>
            <td>{utc(at)}</td>
            <td>{value.toLocaleString()}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </details>
);
