import { useSignal } from "@preact/signals";
import { write } from "../../api";
import { DropZone } from "../../parts/drop-zone";
import { place } from "../../router";
import { DOCUMENTS } from "./path";

type Upload = { name: string; state: string; isRefused: boolean };

/** Takes files that are dropped or chosen, one after the other, and says what became of each. */
export function Upload({ onDone }: { onDone: () => Promise<void> }) {
  const uploads = useSignal<Upload[]>([]);
  const show = (name: string, state: string, isRefused = false) => {
    uploads.value = [...uploads.value.filter((each) => each.name !== name), { name, state, isRefused }];
  };
  async function take(files: File[]) {
    for (const file of files) {
      show(file.name, "is being sent…");
      await upload(file).then(
        () => show(file.name, "was taken."),
        (error) => show(file.name, `was refused: ${error.message}`, true),
      );
      await onDone();
    }
  }
  return (
    <>
      <DropZone label="Drop documents here, or choose them" accept=".txt,.text,.md,.markdown,.html,.htm" onFiles={(files) => void take(files)} />
      <ul class="uploads" aria-live="polite">
        {uploads.value.map(({ name, state, isRefused }) => (
          <li key={name} class={isRefused ? "fault" : "fine"}>
            {name} {state}
          </li>
        ))}
      </ul>
    </>
  );
}

function upload(file: File) {
  const form = new FormData();
  form.set("organizationId", place.value.organizationId ?? "");
  form.set(
    "title",
    file.name
      .replace(/\.\w{1,8}$/, "")
      .replace(/[-_]+/g, " ")
      .trim() || file.name,
  );
  form.set("file", file);
  return write("POST", DOCUMENTS, { body: form });
}
