import { useId } from "preact/hooks";
import { inOrganization, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { toast, toastError } from "../../parts/toast";
import { setQuery } from "../../router";
import { DAYS, rangeChange, sharedDays } from "./time-range";
import type { Widget, WidgetKind } from "./types";

type Props = { name: string; names: string[]; widgets: Widget[]; kinds: WidgetKind[]; reload: () => Promise<void> };

export function Toolbar({ name, names, widgets, kinds, reload }: Props) {
  const id = useId();
  const days = sharedDays(widgets);
  async function setDays(wanted: number) {
    for (const widget of widgets) {
      const settings = rangeChange(widget, kinds, wanted);
      if (settings) await write("PATCH", inOrganization("core", "widgets", widget.id), { body: { settings }, version: widget.version });
    }
    await reload();
    toast("Saved.");
  }
  return (
    <div class="filters">
      {names.length > 1 && (
        <div class="filter">
          <label for={`${id}-name`}>Dashboard</label>
          <select id={`${id}-name`} value={name} onChange={({ currentTarget }) => setQuery({ dashboard: currentTarget.value })}>
            {names.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </div>
      )}
      {isAdmin.value && widgets.length > 0 && (
        <div class="filter">
          <label for={`${id}-days`}>Time range</label>
          <select id={`${id}-days`} value={days ?? ""} onChange={({ currentTarget }) => void setDays(Number(currentTarget.value)).catch(toastError)}>
            {!DAYS.some((each) => each === days) && <option value={days ?? ""}>{days === undefined ? "Each its own" : `${days} days`}</option>}
            {DAYS.map((each) => (
              <option key={each} value={each}>
                {each === 1 ? "1 day" : `${each} days`}
              </option>
            ))}
          </select>
        </div>
      )}
    </div>
  );
}
