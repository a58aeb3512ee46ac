import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { isAdmin } from "../../../auth/session";
import { toError } from "../../../errors";
import { type Member, useMembers } from "../../../members";
import { DropZone } from "../../../parts/drop-zone";
import { EmptyState, Failure, Loaded } from "../../../parts/empty";
import { Card } from "../../../parts/facts";
import { PageHeading } from "../../../parts/heading";
import { toastError } from "../../../parts/toast";
import { link } from "../../../router";
import { type Import, startImport } from "./progress";
import { readRecords, readText } from "./read";
import { COLUMNS, checkTable } from "./rows";
import { sendRows } from "./send";
import { RowsTable } from "./table";

export const ImportCsvPage = () => (
  <>
    <PageHeading
      title="Import a CSV file"
      back={{ label: "Certificates", href: link("certificates") }}
      intro="Many certificates with their owners, contacts, labels and notes. Nothing is sent before you have seen the rows."
    />
    {isAdmin.value ? <Importing /> : <EmptyState title="Only administrators import certificates." hint="Ask one of them." />}
  </>
);

function Importing() {
  return <Loaded from={useMembers()}>{(known) => <Steps owners={ownersByMail(known)} />}</Loaded>;
}

const ownersByMail = (members: Member[]) =>
  new Map(members.flatMap(({ userId, email, status }) => (userId !== null && status === "active" ? [[email.toLowerCase(), userId] as const] : [])));

function Steps({ owners }: { owners: Map<string, string> }) {
  const table = useSignal<Import | undefined>(undefined);
  const fault = useSignal<Error | undefined>(undefined);
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  async function take(content: Blob) {
    fault.value = undefined;
    try {
      table.value = startImport(checkTable(await readRecords(await readText(content)), owners));
    } catch (error) {
      fault.value = toError(error);
    }
  }
  function send(whole: Import) {
    ending.current = new AbortController();
    return sendRows(whole, ending.current.signal).catch(toastError);
  }
  const whole = table.value;
  if (whole) return <RowsTable of={whole} onSend={() => send(whole)} onStop={() => ending.current.abort()} onAgain={() => (table.value = undefined)} />;
  return (
    <div class="narrow-form">
      <Card title="The file" hint={`Its first row names the columns: pem, and those that you need of ${COLUMNS.slice(1).join(", ")}.`}>
        <DropZone label="Drop a CSV file here, or choose one" accept=".csv,text/csv" onFiles={([file]) => file && void take(file)} />
        <Paste onText={(text) => void take(new Blob([text]))} />
        {fault.value && <Failure error={fault.value} />}
        <p class="fine">
          Contacts and labels have a semicolon between two: env=prod;tier=web. What is empty stays as it is, of certificates that are known too. A cell that a
          spreadsheet would compute (=, +, -, @) is not sent, unless a single quote stands before it.
        </p>
      </Card>
    </div>
  );
}

/** A pasted text goes to the reader, not into the field: the browser would lay out all of it. */
const Paste = ({ onText }: { onText: (text: string) => void }) => (
  <div class="field">
    <label for="csv-text">Or paste its text</label>
    <textarea
      id="csv-text"
      rows={3}
      spellcheck={false}
      placeholder="pem,owner,labels,notes"
      onPaste={(event) => {
        event.preventDefault();
        onText(event.clipboardData?.getData("text") ?? "");
      }}
      onChange={({ currentTarget }) => onText(currentTarget.value)}
    />
  </div>
);
