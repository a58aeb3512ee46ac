import type { ComponentChildren } from "preact";
import { Dialog } from "./dialog";
import { Form } from "./form";

type Props = { title: string; submit: string; onConfirm: () => Promise<unknown>; onClose: () => void; isDangerous?: boolean; children: ComponentChildren };

/** Asks once more before something is done that is hard to undo. A refusal is shown in the dialog. */
export const ConfirmDialog = ({ title, submit, onConfirm, onClose, isDangerous = true, children }: Props) => (
  <Dialog title={title} onClose={onClose}>
    <Form fields={[]} submit={submit} isDangerous={isDangerous} onCancel={onClose} onSubmit={onConfirm}>
      <p>{children}</p>
    </Form>
  </Dialog>
);
