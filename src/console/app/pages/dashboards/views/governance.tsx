import { Columns } from "../../../parts/charts/columns";
import { Ring } from "../../../parts/charts/ring";
import { Series } from "../../../parts/charts/series";
import { link } from "../../../router";
import type { DataWith } from "../types";
import { Nothing } from "./nothing";

type Progress = DataWith<{ counts: unknown }>;

const PARTS = [
  ["implemented", "Implemented", "good"],
  ["in_progress", "In progress", "accent"],
  ["not_started", "Not started", "calm"],
  ["not_applicable", "Not applicable", "faint"],
] as const;

const partsOf = (counts: Progress["counts"]) => PARTS.map(([status, label, tone]) => ({ label, value: counts[status], tone }));

export const ComplianceProgress = ({ of: { frameworkKey, counts, percent, groups } }: { of: Progress }) => (
  <>
    <Ring label="Controls" slices={partsOf(counts)} middle={`${percent}%`} />
    <ul class="items">
      {groups.map((group) => (
        <li key={group.name}>
          <a class="item-text" href={link(`governance/${frameworkKey}`, { q: group.name })}>
            {group.name}
          </a>
          <b>{group.percent}%</b>
        </li>
      ))}
    </ul>
  </>
);

export const ControlTrend = ({ of: { points } }: { of: DataWith<{ points: { implemented: unknown }[] }> }) => (
  <>
    <Columns label="Controls by status" columns={points.map(({ at, ...counts }) => ({ at, parts: partsOf(counts) }))} />
    <ul class="legend across">
      {PARTS.map(([status, label, tone]) => (
        <li key={status}>
          <i class={`swatch ${tone}`} />
          {label}
        </li>
      ))}
    </ul>
  </>
);

export function MetricSeries({ of: { aggregation, lowerLimit, upperLimit, series } }: { of: DataWith<{ series: unknown }> }) {
  const limits = Object.entries({ "at least": lowerLimit, "at most": upperLimit }).flatMap(([label, value]) => (value === null ? [] : [{ label, value }]));
  return (
    <>
      {series.map(({ systemId, system, metric, points }) =>
        points.length === 0 ? (
          <Nothing key={`${systemId} ${metric}`} text={`${system} sent no ${metric} in this time.`} />
        ) : (
          <Series key={`${systemId} ${metric}`} label={`${metric} of ${system} (${aggregation})`} points={points} limits={limits} />
        ),
      )}
    </>
  );
}
