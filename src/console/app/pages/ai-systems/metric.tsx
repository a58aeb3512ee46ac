import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import type { InOrganization } from "../../operations";
import { Badge } from "../../parts/badge";
import { Series } from "../../parts/charts/series";
import { EmptyState, Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { useRead } from "../../reading";
import { serverNow } from "../../server-time";
import { queryOf, RANGES, type RangeKey } from "./ranges";
import { EditThreshold, type Threshold } from "./threshold";

type Steps = InOrganization<["ai-governance", "metrics"]>;
type Props = { system: string; metric: string; range: RangeKey; threshold: Threshold | undefined; onChanged: () => Promise<void> };

export function MetricCard({ system, metric, range, threshold, onChanged }: Props) {
  const query = useMemo(() => ({ system, metric, ...queryOf(range, new Date(serverNow())) }), [system, metric, range]);
  const reading = useRead(inOrganization("ai-governance", "metrics"), query);
  const isEditing = useSignal(false);
  return (
    <Card
      title={metric}
      actions={
        <span class="badges">
          {threshold && <Standing of={threshold} />}
          {isAdmin.value && (
            <button type="button" class="quiet" aria-label={`Limits of ${metric}`} onClick={() => (isEditing.value = true)}>
              Limits
            </button>
          )}
        </span>
      }
    >
      <Loaded from={reading}>{(steps) => <MetricChart of={steps} metric={metric} range={range} threshold={threshold} />}</Loaded>
      {isEditing.value && (
        <EditThreshold system={system} metric={metric} threshold={threshold} onClose={() => (isEditing.value = false)} onChanged={onChanged} />
      )}
    </Card>
  );
}

function MetricChart({ of: { unit, items }, metric, range, threshold }: { of: Steps } & Pick<Props, "metric" | "range" | "threshold">) {
  if (items.length === 0)
    return (
      <EmptyState title="No samples." hint={`There are none in the last ${RANGES[range].label.toLowerCase()}: choose a longer time, or look at the name.`} />
    );
  const least = Math.min(...items.map(({ min }) => min));
  const greatest = Math.max(...items.map(({ max }) => max));
  const samples = items.reduce((sum, { count }) => sum + count, 0);
  const label = `${metric}${unit ? ` in ${unit}` : ""}`;
  return (
    <>
      <Series label={label} points={items.map(({ at, mean }) => ({ at, value: mean }))} limits={limitsOf(threshold)} />
      <p class="fine">
        {samples.toLocaleString()} samples, from {least.toLocaleString()} to {greatest.toLocaleString()}
      </p>
    </>
  );
}

const limitsOf = (threshold: Threshold | undefined) =>
  (["min", "max"] as const).flatMap((end) => {
    const value = threshold?.[end];
    return value === undefined || value === null ? [] : [{ label: end === "min" ? "at least" : "at most", value }];
  });

const Standing = ({ of: { isOutside, judgedAt } }: { of: Threshold }) => {
  if (judgedAt === null) return <Badge tone="calm" text="not judged yet" />;
  return isOutside ? <Badge tone="bad" text="outside" icon="warning" /> : <Badge tone="good" text="within" />;
};
