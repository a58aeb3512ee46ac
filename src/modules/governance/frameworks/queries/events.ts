import type { Sql } from "#db/connect";
import { recordEnds, recordEvents, recordEventsOfKinds } from "#modules/notifications/events/queries/record";
import type { NoticeKind } from "#modules/notifications/events/rules/kinds";
import { type CatalogueControl, type FrameworkKey, findControl, nameOf } from "../rules/catalogue";
import type { ControlState } from "../rules/controls";
import { joinEvidence } from "./evidence";

const factsOf = (key: FrameworkKey, { ref, title }: CatalogueControl) => ({ key, framework: nameOf(key), reference: ref, title });

const isOpen = ({ status }: Pick<ControlState, "status">) => status === "not_started" || status === "in_progress";

type Changed = { framework: FrameworkKey; control: CatalogueControl; previous: ControlState; next: ControlState };

/**
 * Parts of the statement that writes the control `stored`: an event where its status falls back, and ends of what the change
 * puts right.
 */
export function recordChange(sql: Sql, { framework, control, previous, next }: Changed, now: Date) {
  const isReopened = isOpen(next) && !isOpen(previous);
  const isMoved = next.dueDate !== previous.dueDate || !isOpen(next);
  const isMended = !isReopened && (!isOpen(next) || !Bun.deepEquals(next.evidence, previous.evidence));
  const facts = { ...factsOf(framework, control), reason: `Its status went from ${words(previous.status)} back to ${words(next.status)}.` };
  return sql`
    reopened as (${recordEvents(sql, "control_reopened", sql`select organization_id, control_id, ${JSON.stringify(facts)}::jsonb, owner_id, null::member_role from stored where ${isReopened}`)}),
    met as (${recordEnds(sql, "control_due", sql`select organization_id, control_id from stored where ${isMoved}`)}),
    mended as (${recordEnds(sql, "control_reopened", sql`select organization_id, control_id from stored ${joinEvidence(sql, sql`stored`, now)} where ${isMended} and not shown.needs_attention`)})`;
}

const words = (status: string) => status.replace("_", " ");

type OwnedControl = { organizationId: string; controlId: string; framework: FrameworkKey; ownerId: string | null };
type Event = OwnedControl & { kind: NoticeKind; isEnd: boolean; facts: object };

/** Records events of controls, but for those that the catalogue no longer has. */
export async function recordControlEvents(tx: Sql, events: Event[]) {
  const known = events.flatMap(({ facts, ...each }) => {
    const control = findControl(each.framework, each.controlId);
    return control ? { ...each, facts: { ...factsOf(each.framework, control), ...facts } } : [];
  });
  if (known.length === 0) return;
  await recordEventsOfKinds(
    tx,
    tx`select "organizationId", kind, "isEnd", "controlId", facts, "ownerId", null::member_role
      from jsonb_to_recordset(${JSON.stringify(known)}::text::jsonb) as given ("organizationId" uuid, kind text, "isEnd" boolean, "controlId" uuid, facts jsonb, "ownerId" uuid)`,
  );
}
