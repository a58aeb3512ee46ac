import { useSignal } from "@preact/signals";
import { below, inOrganization, write } from "../../api";
import { ConfirmDialog } from "../../parts/confirm";
import { DetailPage } from "../../parts/detail";
import { Dialog } from "../../parts/dialog";
import { Card, Facts } from "../../parts/facts";
import { changesOf, labelOf } from "../../parts/fields";
import { Time, UtcTime } from "../../parts/time";
import { toast, toastError } from "../../parts/toast";
import { useRead } from "../../reading";
import { go, link } from "../../router";
import { History } from "../certificates/history";
import type { readIssuer } from "./issuer-fields";
import { IssuerForm } from "./issuer-form";
import { TestOutcome } from "./issuers";
import { OrdersTable } from "./orders-table";
import { type Issuer, KINDS } from "./types";

export function IssuerPage({ id }: { id: string }) {
  const reading = useRead(inOrganization("issuers", id));
  return (
    <DetailPage
      from={reading}
      kind="Issuer"
      name={({ name }) => name}
      back={{ label: "Issuers", href: link("issuers") }}
      intro={(shown) => KINDS[shown.kind]}
      actions={(shown) => <Actions of={shown} onDone={() => void reading.reload()} />}
    >
      {(issuer) => (
        <div class="columns">
          <div>
            <Card title="Orders">
              <OrdersTable query={{ issuerId: id }} />
            </Card>
            <History id={id} />
          </div>
          <div>
            <Card title="Last test">
              <LastTest of={issuer} />
            </Card>
            <Card title="Settings">
              <Settings of={issuer} />
            </Card>
          </div>
        </div>
      )}
    </DetailPage>
  );
}

function Actions({ of, onDone }: { of: Issuer; onDone: () => void }) {
  const open = useSignal<"edit" | "delete" | undefined>(undefined);
  const isTesting = useSignal(false);
  const path = inOrganization("issuers", of.id);
  const close = () => {
    open.value = undefined;
  };
  async function test() {
    isTesting.value = true;
    try {
      const { outcome, message } = await write("POST", below(path, "test"));
      toast(message, outcome === "ok" ? "good" : "bad");
      onDone();
    } finally {
      isTesting.value = false;
    }
  }
  async function save({ name, config, secrets }: ReturnType<typeof readIssuer>) {
    await write("PATCH", path, { body: { name, config: changesOf(of.config, config), secrets }, version: of.version });
    close();
    toast("Saved.");
    onDone();
  }
  async function remove() {
    await write("DELETE", path, { version: of.version });
    toast(`${of.name} is deleted.`);
    go(link("issuers"));
  }
  return (
    <>
      <button type="button" class="danger" onClick={() => (open.value = "delete")}>
        Delete
      </button>
      <button type="button" onClick={() => (open.value = "edit")}>
        Change
      </button>
      <button type="button" class="primary" aria-disabled={isTesting.value} onClick={() => void test().catch(toastError)}>
        {isTesting.value ? "Testing…" : "Test"}
      </button>
      {open.value === "edit" && (
        <Dialog title="Change the issuer" onClose={close}>
          <IssuerForm of={of} submit="Save" onSubmit={save} />
        </Dialog>
      )}
      {open.value === "delete" && (
        <ConfirmDialog title={`Delete ${of.name}?`} submit="Delete" onConfirm={remove} onClose={close}>
          Its secrets go with it, and nothing renews the certificates that it looks after.
        </ConfirmDialog>
      )}
    </>
  );
}

const LastTest = ({ of }: { of: Issuer }) => (
  <>
    <p class="outcome">
      <TestOutcome of={of} /> {of.lastTest && <Time at={of.lastTest.testedAt} relative />}
    </p>
    <p class="fine">{of.lastTest ? of.lastTest.message : "A test asks whether it would issue, and has nothing issued."}</p>
  </>
);

const Settings = ({ of: { config, secretNames, account, retryAt, experimentalProviders, createdAt } }: { of: Issuer }) => (
  <Facts
    of={[
      ...(config.authorityId ? ([["Authority", <a href={link(`authorities/${config.authorityId}`)}>Its authority</a>]] as const) : []),
      ...Object.entries(config)
        .filter(([name]) => name !== "authorityId")
        .map(([name, value]) => [labelOf(name), <code key={name}>{typeof value === "string" ? value : JSON.stringify(value)}</code>] as const),
      ["Secrets", secretNames.join(", ") || null],
      ...(account ? ([["Account", account.url ?? account.thumbprint]] as const) : []),
      ...(retryAt ? ([["Rests until", <UtcTime at={retryAt} />]] as const) : []),
      ...(experimentalProviders.length > 0 ? ([["Experimental", experimentalProviders.join(", ")]] as const) : []),
      ["Made", <UtcTime at={createdAt} />],
    ]}
  />
);
