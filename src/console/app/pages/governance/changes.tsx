import { useSignal } from "@preact/signals";
import { read } from "../../api";
import { nameOfUser } from "../../members";
import { Time } from "../../parts/time";
import { toastError } from "../../parts/toast";
import { describeChange } from "./describe";
import type { ControlAddress, ControlWithHistory } from "./types";

type Author = ControlWithHistory["history"]["items"][number]["actor"];

/** A user who is no member any more is named by the id. */
const authorOf = ({ type, id }: Author) => (type === "user" && id ? (nameOfUser(id) ?? id) : type.replaceAll("-", " "));

type Props = { path: ControlAddress; of: ControlWithHistory };

/** Changes of a control, each with its time and author; further pages on demand. */
export function Changes({ path, of: { history } }: Props) {
  const items = useSignal(history.items);
  const cursor = useSignal(history.nextCursor);
  async function more() {
    const next = (await read(path, { cursor: cursor.value ?? undefined })).history;
    items.value = [...items.value, ...next.items];
    cursor.value = next.nextCursor;
  }
  if (items.value.length === 0) return <p class="fine">Nothing was changed yet.</p>;
  return (
    <>
      <ol class="history">
        {items.value.map((change, index) => (
          <li key={change.version}>
            <b>{describeChange(change, items.value[index + 1], (id) => nameOfUser(id) ?? id).join("; ")}</b>
            {change.note && <q class="note">{change.note}</q>}
            <span>
              <Time at={change.at} /> by {authorOf(change.actor)}
            </span>
          </li>
        ))}
      </ol>
      {cursor.value !== null && (
        <button type="button" onClick={() => void more().catch(toastError)}>
          Show more
        </button>
      )}
    </>
  );
}
