import { useSignal } from "@preact/signals";
import { KIND_NAMES, type NoticeKind } from "#modules/notifications/events/rules/kinds";
import { inOrganization, write } from "../../api";
import { owners } from "../../members";
import { Dialog } from "../../parts/dialog";
import { namesOf } from "../../parts/entries";
import { type Field, labelOf } from "../../parts/fields";
import { Form, type Values } from "../../parts/form";
import { toast } from "../../parts/toast";
import { channels } from "./targets";
import type { Route, Target } from "./types";

type Props = { route?: Route; onClose: () => void; onDone: (route: Route) => void };
type TargetKind = "connection" | "role" | "members";

const FIELDS: Field[] = [
  { name: "name", label: "Name", kind: "text", required: true, placeholder: "Expiries of production" },
  { name: "severity", label: "At least", kind: "select", required: true, options: ["info", "warning", "critical"] },
  { name: "selector", label: "Labels", kind: "text", placeholder: "env=prod,tier!=edge", hint: "Only what is about certificates or agents with such labels." },
  { name: "enabled", label: "Enabled", kind: "boolean" },
];

/** Makes a route, or changes one. */
export function RouteDialog({ route, onClose, onDone }: Props) {
  const kinds = useSignal<ReadonlySet<NoticeKind>>(new Set(route?.kinds ?? []));
  const target = useSignal<Target>(route?.target ?? firstTarget());
  async function save({ selector = null, ...values }: Values) {
    const body = { ...values, selector, kinds: kinds.value.size > 0 ? [...kinds.value] : null, target: target.value };
    const saved = await (route
      ? write("PATCH", inOrganization("notification-routes", route.id), { body, version: route.version })
      : write("POST", inOrganization("notification-routes"), { body }));
    onClose();
    onDone(saved);
    toast("The route is saved.");
  }
  return (
    <Dialog title={route ? "Change the route" : "Add a route"} onClose={onClose}>
      <Form fields={FIELDS} values={route ?? { severity: "info", enabled: true }} submit="Save" onSubmit={save} onCancel={onClose}>
        <TargetField of={target.value} onChoose={(chosen) => (target.value = chosen)} />
        <Choices
          legend="Kinds"
          hint="None chosen: every kind."
          of={KIND_NAMES.map((kind) => [kind, labelOf(kind)] as const)}
          chosen={kinds.value}
          onChoose={(chosen) => (kinds.value = chosen)}
        />
      </Form>
    </Dialog>
  );
}

function firstTarget(): Target {
  const [connection] = channels.value;
  return connection ? { connectionId: connection.id } : { role: "ORG_ADMIN" };
}

const kindOf = ({ connectionId, role }: Target): TargetKind => (connectionId !== undefined ? "connection" : role === undefined ? "members" : "role");
const TARGET_KINDS: Record<TargetKind, string> = { connection: "A channel", role: "Everybody with a role", members: "Some members" };

function TargetField({ of, onChoose }: { of: Target; onChoose: (target: Target) => void }) {
  const connections = channels.value;
  const kind = kindOf(of);
  const begin: Record<TargetKind, Target> = { connection: { connectionId: connections[0]?.id ?? "" }, role: { role: "ORG_ADMIN" }, members: { userIds: [] } };
  return (
    <fieldset class="field group">
      <legend>Leads to</legend>
      <select
        aria-label="Leads to"
        value={kind}
        onChange={({ currentTarget }) => onChoose(begin[namesOf(TARGET_KINDS).find((name) => name === currentTarget.value) ?? kind])}
      >
        {Object.entries(TARGET_KINDS).map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      {kind === "connection" && (
        <select aria-label="Channel" value={of.connectionId} onChange={({ currentTarget }) => onChoose({ connectionId: currentTarget.value })}>
          {connections.map(({ id, name, kind }) => (
            <option key={id} value={id}>
              {`${name} (${kind.replaceAll("_", " ")})`}
            </option>
          ))}
        </select>
      )}
      {kind === "connection" && connections.length === 0 && (
        <p class="fine">There is no channel yet: add a webhook, Slack, Teams, PagerDuty or SMTP connection first.</p>
      )}
      {kind === "role" && (
        <select
          aria-label="Role"
          value={of.role}
          onChange={({ currentTarget }) => onChoose({ role: currentTarget.value === "ORG_MEMBER" ? "ORG_MEMBER" : "ORG_ADMIN" })}
        >
          <option value="ORG_ADMIN">All administrators</option>
          <option value="ORG_MEMBER">All members</option>
        </select>
      )}
      {kind === "members" && (
        <Choices legend="Members" of={owners.value} chosen={new Set(of.userIds)} onChoose={(chosen) => onChoose({ userIds: [...chosen] })} />
      )}
    </fieldset>
  );
}

type ChoicesProps<Name extends string> = {
  legend: string;
  hint?: string;
  of: (readonly [Name, label: string])[];
  chosen: ReadonlySet<Name>;
  onChoose: (chosen: Set<Name>) => void;
};

function Choices<Name extends string>({ legend, hint, of, chosen, onChoose }: ChoicesProps<Name>) {
  const toggle = (name: Name, isChosen: boolean) => onChoose(new Set(isChosen ? [...chosen, name] : [...chosen].filter((each) => each !== name)));
  return (
    <fieldset class="field group">
      <legend>{legend}</legend>
      {hint && <p class="fine">{hint}</p>}
      <div class="checks">
        {of.map(([name, label]) => (
          <label key={name}>
            <input type="checkbox" checked={chosen.has(name)} onChange={({ currentTarget }) => toggle(name, currentTarget.checked)} /> {label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
