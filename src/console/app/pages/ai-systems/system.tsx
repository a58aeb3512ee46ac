import { useSignal } from "@preact/signals";
import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { Failure, Loaded } from "../../parts/empty";
import { type Filter, Filters } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { ShowMore } from "../../parts/show-more";
import { usePages, useRead } from "../../reading";
import { link, place } from "../../router";
import { MetricCard } from "./metric";
import { isRange, RANGES, type RangeKey } from "./ranges";
import { EditThreshold, type Threshold } from "./threshold";

const USUAL = "24h";

const FILTERS: Filter[] = [
  {
    name: "range",
    label: "Time",
    kind: "select",
    otherwise: RANGES[USUAL].label,
    options: Object.entries(RANGES).flatMap(([key, { label }]) => (key === USUAL ? [] : [[key, label] as const])),
  },
  { name: "metric", label: "Metric", kind: "search", placeholder: "Its whole name" },
];

/** The metrics of a system: those with limits first, or the one that is asked for. */
export function SystemPage({ system }: { system: string }) {
  const thresholds = useRead(inOrganization("ai-governance", "metric-thresholds"), { limit: 100 });
  const isAdding = useSignal(false);
  const range = place.value.query.get("range");
  return (
    <>
      <PageHeading
        title={system}
        back={{ label: "AI systems", href: link("ai-systems") }}
        intro="Each metric in steps: the mean of its samples, and the limits that it should keep."
        {...(isAdmin.value && { actions: <AddButton onClick={() => (isAdding.value = true)} /> })}
      />
      <Filters of={FILTERS} />
      <Loaded from={thresholds}>
        {({ items }) => (
          <Metrics
            system={system}
            range={isRange(range) ? range : USUAL}
            thresholds={items.filter((each) => each.system === system)}
            onChanged={thresholds.reload}
          />
        )}
      </Loaded>
      {isAdding.value && <EditThreshold system={system} onClose={() => (isAdding.value = false)} onChanged={thresholds.reload} />}
    </>
  );
}

type MetricsProps = { system: string; range: RangeKey; thresholds: Threshold[]; onChanged: () => Promise<void> };

function Metrics({ system, range, thresholds, onChanged }: MetricsProps) {
  const pages = usePages(inOrganization("ai-governance", "metric-names"), { system, limit: "12" });
  const asked = place.value.query.get("metric");
  if (pages.error.value) return <Failure error={pages.error.value} />;
  const names = asked ? [asked] : [...new Set([...thresholds, ...pages.rows.value].map(({ metric }) => metric))];
  if (names.length === 0) return <p class="loading">Loading…</p>;
  return (
    <>
      <div class="grid-cards wide">
        {names.map((name) => (
          <MetricCard
            key={`${name} ${range}`}
            system={system}
            metric={name}
            range={range}
            threshold={thresholds.find((each) => each.metric === name)}
            onChanged={onChanged}
          />
        ))}
      </div>
      {!asked && <ShowMore of={pages} />}
    </>
  );
}

const AddButton = ({ onClick }: { onClick: () => void }) => (
  <button type="button" class="primary" onClick={onClick}>
    Set limits
  </button>
);
