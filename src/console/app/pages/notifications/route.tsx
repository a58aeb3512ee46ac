import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { below, inOrganization, write } from "../../api";
import { DetailPage } from "../../parts/detail";
import { Dialog } from "../../parts/dialog";
import { Card, Facts } from "../../parts/facts";
import { Form } from "../../parts/form";
import { Time } from "../../parts/time";
import { toast, toastError } from "../../parts/toast";
import { type Reading, useRead } from "../../reading";
import { go, link } from "../../router";
import { Deliveries } from "./deliveries";
import { RouteDialog } from "./route-dialog";
import { describeKinds, RouteState } from "./routes";
import { describeTarget, readTargets } from "./targets";
import type { Route } from "./types";

export function RoutePage({ id }: { id: string }) {
  const reading = useRead(inOrganization("notification-routes", id));
  const tests = useSignal(0);
  useEffect(() => void readTargets().catch(toastError), []);
  return (
    <DetailPage
      from={reading}
      kind="Notification route"
      name={({ name }) => name}
      back={{ label: "Notification routes", href: link("notifications/routes") }}
      intro={(shown) => <RouteState of={shown} />}
      actions={(shown) => <Actions of={shown} reading={reading} onTested={() => tests.value++} />}
    >
      {(shown) => (
        <div class="columns">
          <Card title="Deliveries" hint="What went to its channel, newest first, for 90 days. Members find it in their inboxes.">
            <Deliveries key={tests.value} routeId={id} />
          </Card>
          <Card title="Details">
            <Facts
              of={[
                ["About", describeKinds(shown.kinds)],
                ["At least", shown.severity],
                ["Labels", shown.selector && <code>{shown.selector}</code>],
                ["Leads to", describeTarget(shown.target)],
                ["Made", <Time at={shown.createdAt} />],
              ]}
            />
          </Card>
        </div>
      )}
    </DetailPage>
  );
}

type ActionsProps = { of: Route; reading: Reading<Route>; onTested: () => void };

function Actions({ of: route, reading, onTested }: ActionsProps) {
  const open = useSignal<"edit" | "delete" | undefined>(undefined);
  const isTesting = useSignal(false);
  const close = () => {
    open.value = undefined;
  };
  const path = inOrganization("notification-routes", route.id);
  async function test() {
    if (isTesting.value) return;
    isTesting.value = true;
    const result = await write("POST", below(path, "test")).finally(() => {
      isTesting.value = false;
    });
    toast(result.message, result.outcome === "delivered" ? "good" : "bad");
    onTested();
  }
  async function remove() {
    await write("DELETE", path, { version: route.version });
    go(link("notifications/routes"));
    toast("The route is deleted.");
  }
  return (
    <>
      <button type="button" aria-disabled={isTesting.value} onClick={() => void test().catch(toastError)}>
        {isTesting.value ? "Sending…" : "Send a test"}
      </button>
      <button type="button" onClick={() => (open.value = "edit")}>
        Change
      </button>
      <button class="danger" type="button" onClick={() => (open.value = "delete")}>
        Delete
      </button>
      {open.value === "edit" && <RouteDialog route={route} onClose={close} onDone={() => void reading.reload()} />}
      {open.value === "delete" && (
        <Dialog title={`Delete ${route.name}?`} onClose={close}>
          <p class="dialog-hint">What still waits because of it is given up.</p>
          <Form fields={[]} submit="Delete" isDangerous onSubmit={remove} onCancel={close} />
        </Dialog>
      )}
    </>
  );
}
