import { exampleOf, kindOf } from "#modules/notifications/events/rules/kinds";
import type { Content } from "./message";

const KIND = "certificate_expiring";

/** Returns the content of a test message; `link` is the page of what is tested. */
export const exampleContent = ({ id, link }: { id: string; link: string }, now: Date): Content => ({
  kind: KIND,
  severity: "info",
  ...exampleOf(KIND),
  link,
  count: 1,
  items: [{ id, words: exampleOf(KIND).title, facts: kindOf(KIND).example }],
  occurredAt: now.toISOString(),
});
