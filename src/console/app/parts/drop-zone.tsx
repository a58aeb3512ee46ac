import { useSignal } from "@preact/signals";
import type { TargetedEvent } from "preact";
import { Icon } from "./icon";

type Props = { label: string; accept: string; onFiles: (files: File[]) => void };

/** A field for files that are dropped; for the keyboard it is a file input. */
export function DropZone({ label, accept, onFiles }: Props) {
  const isOver = useSignal(false);
  const over = (is: boolean) => (event: DragEvent) => {
    event.preventDefault();
    isOver.value = is;
  };
  function drop(event: DragEvent) {
    over(false)(event);
    onFiles([...(event.dataTransfer?.files ?? [])]);
  }
  function choose({ currentTarget }: TargetedEvent<HTMLInputElement>) {
    onFiles([...(currentTarget.files ?? [])]);
    currentTarget.value = "";
  }
  return (
    <label class={isOver.value ? "drop-zone over" : "drop-zone"} onDragOver={over(true)} onDragLeave={over(false)} onDrop={drop}>
      <Icon name="plus" />
      <span>{label}</span>
      <input type="file" multiple class="hidden" accept={accept} onChange={choose} />
    </label>
  );
}
