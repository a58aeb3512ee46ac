import { useSignal } from "@preact/signals";
import { below, inOrganization, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { Badge, type Tone } from "../../parts/badge";
import { Dialog } from "../../parts/dialog";
import { EmptyState } from "../../parts/empty";
import { type Filter, Filters, filterQuery, isFiltered } from "../../parts/filters";
import { DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { toast, toastError } from "../../parts/toast";
import { usePages } from "../../reading";
import type { Delivery } from "./types";

const TONES: Record<Delivery["state"], Tone> = { pending: "info", delivered: "good", failed: "bad" };
const FILTERS: Filter[] = [
  {
    name: "state",
    label: "State",
    kind: "select",
    options: [
      ["pending", "Pending"],
      ["delivered", "Delivered"],
      ["failed", "Failed"],
    ],
  },
];

export function Deliveries({ routeId }: { routeId: string }) {
  const path = inOrganization("notification-routes", routeId, "deliveries");
  const deliveries = usePages(path, filterQuery(FILTERS));
  const shown = useSignal<Delivery | undefined>(undefined);
  async function redeliver({ id }: Delivery) {
    await write("POST", below(path, id, "redeliver"));
    shown.value = undefined;
    toast("It is delivered once more.");
    await deliveries.reload();
  }
  return (
    <>
      <Filters of={FILTERS} />
      <DataTable
        label="Deliveries"
        from={deliveries}
        id={({ id }) => id}
        columns={[
          {
            label: "Notice",
            cell: (delivery) => (
              <button class="row-link" type="button" aria-haspopup="dialog" onClick={() => (shown.value = delivery)}>
                {delivery.notification.title}
              </button>
            ),
          },
          { label: "State", cell: ({ state, test }) => <Badge tone={TONES[state]} text={test ? `${state}, a test` : state} /> },
          { label: "When", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
        ]}
        empty={
          isFiltered(FILTERS) ? (
            <EmptyState title="No delivery is in this state." hint="Choose another state above." />
          ) : (
            <EmptyState title="Nothing was delivered yet." hint="Send a test to see whether the channel takes it." />
          )
        }
      />
      {shown.value && <DeliveryDialog of={shown.value} onRedeliver={redeliver} onClose={() => (shown.value = undefined)} />}
    </>
  );
}

type Props = { of: Delivery; onRedeliver: (delivery: Delivery) => Promise<void>; onClose: () => void };

const DeliveryDialog = ({ of: delivery, onRedeliver, onClose }: Props) => (
  <Dialog title={delivery.notification.title} onClose={onClose}>
    <p>{delivery.notification.message}</p>
    <p class="notice-meta">
      <Badge tone={TONES[delivery.state]} text={delivery.state} /> {delivery.reason}
      {delivery.nextAttemptAt && (
        <span>
          The next attempt is <Time at={delivery.nextAttemptAt} relative />.
        </span>
      )}
    </p>
    <h3 class="details-title">Attempts</h3>
    {delivery.attempts.length === 0 && <p class="fine">None yet.</p>}
    <ol class="plain-list">
      {delivery.attempts.map(({ at, status, reason }) => (
        <li key={at}>
          <Time at={at} />
          <span class="fine">{[status, reason].filter(Boolean).join(" · ") || "delivered"}</span>
        </li>
      ))}
    </ol>
    {isAdmin.value && (
      <div class="dialog-actions">
        <button type="button" onClick={() => void onRedeliver(delivery).catch(toastError)}>
          Deliver once more
        </button>
      </div>
    )}
  </Dialog>
);
