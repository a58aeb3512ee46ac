import { below, read, write } from "../../api";
import type { RowOnServer } from "../../operations";
import { Badge, type Tone } from "../../parts/badge";
import { DeleteButton } from "../../parts/delete";
import { EmptyState } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { Icon } from "../../parts/icon";
import { type Column, DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { toast, toastError } from "../../parts/toast";
import { useLive, usePages } from "../../reading";
import { place } from "../../router";
import { DOCUMENTS } from "./path";
import { sizeOf } from "./size";
import { Upload } from "./upload";

type Document = RowOnServer<["admin", "knowledge-base", "documents"]>;

const TONES: Record<Document["status"], Tone> = { uploaded: "info", indexing: "info", ready: "good", failed: "bad" };

export function Documents() {
  const pages = usePages(DOCUMENTS, { organizationId: place.value.organizationId });
  const rows = pages.rows.value;
  const isUnderWay = rows.some(({ status }) => status === "uploaded" || status === "indexing");
  useLive(pages, isUnderWay);
  return (
    <Card title="Documents" hint="Plain text, Markdown or HTML. Each is indexed by itself.">
      <Upload onDone={pages.reload} />
      <DataTable
        label="Documents"
        columns={columnsOf(pages.reload)}
        from={pages}
        id={({ id }) => id}
        empty={<EmptyState title="There are no documents yet." hint="Drop one above: a minute later it can be searched." />}
      />
    </Card>
  );
}

const columnsOf = (reload: () => Promise<void>): Column<Document>[] => [
  { label: "Title", cell: ({ title, fileName }) => <b title={fileName}>{title}</b> },
  { label: "State", cell: (document) => <State of={document} /> },
  { label: "Passages", align: "end", cell: ({ chunkCount }) => chunkCount.toLocaleString() },
  { label: "Size", align: "end", cell: ({ size }) => sizeOf(size) },
  { label: "Added", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
  { label: "Actions", align: "end", cell: (document) => <Actions of={document} reload={reload} /> },
];

const State = ({ of: { status, failure } }: { of: Document }) => (
  <span title={failure ?? ""}>
    <Badge tone={TONES[status]} text={failure === null ? status : `${status}: ${failure}`} />
  </span>
);

function Actions({ of: { id, title, version }, reload }: { of: Document; reload: () => Promise<void> }) {
  async function download() {
    const { url } = await read(below(DOCUMENTS, id, "download"));
    location.assign(url);
  }
  async function reindex() {
    await write("POST", below(DOCUMENTS, id, "reindex"), { resource: below(DOCUMENTS, id) });
    await reload();
    toast("It is being indexed.");
  }
  async function remove() {
    await write("DELETE", below(DOCUMENTS, id), { version });
    await reload();
    toast(`${title} was deleted.`);
  }
  return (
    <span class="row-actions">
      <button type="button" class="quiet" aria-label={`Download ${title}`} title="Download" onClick={() => void download().catch(toastError)}>
        <Icon name="download" />
      </button>
      <button type="button" class="quiet" aria-label={`Index again ${title}`} title="Index again" onClick={() => void reindex().catch(toastError)}>
        <Icon name="retry" />
      </button>
      <DeleteButton name={title} onConfirmed={remove} />
    </span>
  );
}
