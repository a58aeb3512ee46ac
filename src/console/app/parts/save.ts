/** How long the browser may take to begin with the file. */
const KEPT_MS = 60_000;

/** Gives the browser a file to save. */
export function save(content: Blob, name: string) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(content);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), KEPT_MS);
}
