import { Icon, type IconName } from "./icon";

export type Tone = "good" | "warn" | "bad" | "calm" | "info";
const ICONS: Record<Tone, IconName> = { good: "check", warn: "warning", bad: "cross", calm: "dot", info: "clock" };

/** A state in words, with an icon and a colour. "in_progress" reads "in progress". */
export const Badge = ({ tone, text, icon = ICONS[tone] }: { tone: Tone; text: string; icon?: IconName }) => (
  <span class={`badge ${tone}`}>
    <Icon name={icon} />
    {text.replaceAll("_", " ")}
  </span>
);
