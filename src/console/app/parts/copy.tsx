import { Icon } from "./icon";
import { toast } from "./toast";

/** Copies a text. The clipboard is missing on plain http: then the text is selected by hand. */
export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  async function copy() {
    if (!navigator.clipboard) return toast("This page has no access to the clipboard: select the text and copy it.", "bad");
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  }
  return (
    <button class="quiet copy" type="button" onClick={() => void copy()}>
      <Icon name="copy" /> {label}
    </button>
  );
}

/** A long value in one line, with its copy button. */
export const Code = ({ text, label }: { text: string; label: string }) => (
  <span class="code">
    <code>{text}</code>
    <CopyButton text={text} label={label} />
  </span>
);
