import { useSignal } from "@preact/signals";
import { Dialog } from "./dialog";
import { Form } from "./form";

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
        <Dialog title={`${label} ${name}?`} onClose={close}>
          <Form fields={[]} submit={label} isDangerous onCancel={close} onSubmit={() => onConfirmed().then(close)}>
            <p>This cannot be undone.</p>
          </Form>
        </Dialog>
      )}
    </>
  );
}
