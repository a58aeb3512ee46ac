import { useSignal } from "@preact/signals";
import { below, inOrganization, write } from "../../api";
import type { RowInOrganization } from "../../operations";
import { Code } from "../../parts/copy";
import { DeleteButton } from "../../parts/delete";
import { Dialog } from "../../parts/dialog";
import { EmptyState } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { Form } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { Time } from "../../parts/time";
import { toast } from "../../parts/toast";
import { usePages } from "../../reading";

type Key = RowInOrganization<["ai-governance", "ingest", "keys"]>;

const PATH = () => inOrganization("ai-governance", "ingest", "keys");

/** The keys with which systems send samples. A key is shown once, when it is made. */
export function IngestKeys() {
  const pages = usePages(PATH());
  const isMaking = useSignal(false);
  const made = useSignal("");
  const close = () => {
    isMaking.value = false;
    made.value = "";
  };
  async function make(name: unknown) {
    const { key } = await write("POST", PATH(), { body: { name } });
    made.value = key;
    await pages.reload();
  }
  async function remove({ id, name }: Key) {
    await write("DELETE", below(PATH(), id));
    await pages.reload();
    toast(`${name} is refused from now on.`);
  }
  return (
    <Card
      title="Ingest keys"
      hint="A system sends its samples with one of these."
      actions={
        <button type="button" onClick={() => (isMaking.value = true)}>
          <Icon name="plus" /> Make a key
        </button>
      }
    >
      {pages.rows.value.length === 0 && pages.isWhole.value && (
        <EmptyState title="There is no key." hint="Make one for each sender, so that one can be replaced alone." />
      )}
      <ul class="items">
        {pages.rows.value.map((key) => (
          <li key={key.id}>
            <span class="item-text">
              <b>{key.name}</b>
              <span class="fine">
                made <Time at={key.createdAt} relative />
              </span>
            </span>
            <DeleteButton name={key.name} onConfirmed={() => remove(key)} />
          </li>
        ))}
      </ul>
      {isMaking.value && (
        <Dialog title="Make an ingest key" onClose={close}>
          {made.value === "" ? (
            <Form
              fields={[{ name: "name", label: "What it is for", kind: "text", required: true, placeholder: "Production collectors" }]}
              submit="Make it"
              onCancel={close}
              onSubmit={({ name }) => make(name)}
            />
          ) : (
            <div class="form">
              <p>Copy it now: it is not shown again.</p>
              <Code text={made.value} label="Copy" />
              <p class="fine">
                Samples go to <code>POST …/{PATH().replace("keys", "metrics")}</code>, with this key as bearer token.
              </p>
            </div>
          )}
        </Dialog>
      )}
    </Card>
  );
}
