import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon";

type Props = {
  title: string;
  onClose: () => void;
  /** True where nothing of the page behind it may be seen. */
  isOpaque?: boolean;
  children: ComponentChildren;
};

/** A modal dialog: Escape closes it, and the focus goes back to where it was. */
export function Dialog({ title, onClose, isOpaque = false, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      class={isOpaque ? "opaque" : ""}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div class="dialog-top">
        <h2 id={id}>{title}</h2>
        <button class="quiet" type="button" aria-label="Close" onClick={onClose}>
          <Icon name="cross" />
        </button>
      </div>
      {children}
    </dialog>
  );
}

/** The end of a dialog without a choice. */
export const Done = ({ onClick, children }: { onClick: () => void; children?: ComponentChildren }) => (
  <div class="dialog-actions">
    {children}
    <button class="primary" type="button" onClick={onClick}>
      Done
    </button>
  </div>
);
