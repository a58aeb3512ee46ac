import { useSignal } from "@preact/signals";
import { ConfirmDialog } from "./confirm";

/** Asks once more before it deletes. */
export function DeleteButton({ name, onConfirmed, label = "Delete" }: { name: string; onConfirmed: () => Promise<unknown>; label?: string }) {
  const isAsking = useSignal(false);
  const close = () => {
    isAsking.value = false;
  };
  return (
    <>
      <button type="button" class="quiet" aria-label={`${label} ${name}`} onClick={() => (isAsking.value = true)}>
        {label}
      </button>
      {isAsking.value && (
        <ConfirmDialog title={`${label} ${name}?`} submit={label} onConfirm={() => onConfirmed().then(close)} onClose={close}>
          This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  );
}
