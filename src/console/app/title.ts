import { effect, signal } from "@preact/signals";

/** Of the page that is shown. */
export const pageTitle = signal("");
/** Notices of the inbox that are not read. */
export const unread = signal(0);

effect(() => {
  const name = pageTitle.value === "" ? "Certitude" : `${pageTitle.value} · Certitude`;
  document.title = unread.value > 0 ? `(${unread.value}) ${name}` : name;
});
