import { useSignal } from "@preact/signals";
import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { EmptyState, Loaded } from "../../parts/empty";
import { PageHeading } from "../../parts/heading";
import { Icon } from "../../parts/icon";
import { useAll, useRead } from "../../reading";
import { place } from "../../router";
import { EditWidget } from "./edit";
import { Grid } from "./grid";
import { Toolbar } from "./toolbar";

const MAIN = "main";

export function DashboardPage() {
  const reading = useAll(inOrganization("core", "widgets"));
  const kinds = useRead(inOrganization("core", "widget-kinds")).data.value?.items ?? [];
  const isArranging = useSignal(false);
  const isAdding = useSignal(false);
  const name = place.value.query.get("dashboard") ?? MAIN;
  return (
    <>
      <PageHeading
        title={name === MAIN ? "Dashboard" : name}
        {...(isAdmin.value && {
          actions: (
            <>
              <button type="button" aria-pressed={isArranging.value} onClick={() => (isArranging.value = !isArranging.value)}>
                {isArranging.value ? "Done" : "Arrange"}
              </button>
              <button type="button" class="primary" onClick={() => (isAdding.value = true)}>
                <Icon name="plus" /> Add a widget
              </button>
            </>
          ),
        })}
      />
      <Loaded from={reading}>
        {(all) => {
          const widgets = all.filter(({ dashboard }) => dashboard === name);
          return (
            <>
              <Toolbar
                name={name}
                names={[...new Set([MAIN, name, ...all.map(({ dashboard }) => dashboard)])]}
                widgets={widgets}
                kinds={kinds}
                reload={reading.reload}
              />
              {widgets.length === 0 ? (
                <EmptyState title="Nothing is shown here yet." hint="Add a widget: what expires, the health of the fleet, compliance, metrics and more." />
              ) : (
                <Grid widgets={widgets} kinds={kinds} isArranging={isArranging.value && isAdmin.value} reload={reading.reload} />
              )}
            </>
          );
        }}
      </Loaded>
      {isAdding.value && <EditWidget kinds={kinds} dashboard={name} onClose={() => (isAdding.value = false)} reload={reading.reload} />}
    </>
  );
}
