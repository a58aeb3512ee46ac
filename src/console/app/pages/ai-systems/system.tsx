import { useSignal } from "@preact/signals";
import { inOrganization } from "../../api";
import { EmptyState, Loaded } from "../../parts/empty";
import { type Filter, Filters } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { useRead } from "../../reading";
import { link, place } from "../../router";
import { isAdmin } from "../../session";
import { MetricCard } from "./metric";
import { isRange, RANGES } from "./ranges";
import { EditThreshold, type Threshold } from "./threshold";

type Widget = { kind: string; settings: { systemIds?: string[]; metrics?: string[] } };
type System = { id: string; key: string };
type List<Item> = { items: Item[] };

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

/** The metrics of a system: those with limits or on a dashboard, and the one that is asked for. */
export function SystemPage({ system }: { system: string }) {
  const thresholds = useRead<List<Threshold>>(`${inOrganization("ai-governance", "metric-thresholds")}?limit=100`);
  const widgets = useRead<List<Widget>>(`${inOrganization("core", "widgets")}?limit=100`);
  const systems = useRead<List<System>>(`${inOrganization("ai-governance", "systems")}?limit=100`);
  const isAdding = useSignal(false);
  const asked = place.value.query.get("range");
  const range = isRange(asked) ? asked : USUAL;
  const id = systems.data.value?.items.find(({ key }) => key === system)?.id;
  const onDashboards = (widgets.data.value?.items ?? []).filter(({ settings }) => id !== undefined && settings.systemIds?.includes(id));
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
        {({ items }) => {
          const own = items.filter((each) => each.system === system);
          const metric = place.value.query.get("metric");
          const names = new Set([
            ...(metric ? [metric] : []),
            ...own.map((each) => each.metric),
            ...onDashboards.flatMap(({ settings }) => settings.metrics ?? []),
          ]);
          if (names.size === 0) return <EmptyState title="Which metric?" hint="Write its name above, or set limits for it: then it is shown here by itself." />;
          return (
            <div class="grid-cards wide">
              {[...names].map((name) => (
                <MetricCard
                  key={`${name} ${range}`}
                  system={system}
                  metric={name}
                  range={range}
                  threshold={own.find((each) => each.metric === name)}
                  onChanged={thresholds.reload}
                />
              ))}
            </div>
          );
        }}
      </Loaded>
      {isAdding.value && <EditThreshold system={system} onClose={() => (isAdding.value = false)} onChanged={thresholds.reload} />}
    </>
  );
}

const AddButton = ({ onClick }: { onClick: () => void }) => (
  <button type="button" class="primary" onClick={onClick}>
    Set limits
  </button>
);
