import { serverNow } from "../server-time";

const SHOWN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

type Props = { at: string | null; precision?: "day" | "minute"; relative?: boolean };

/** A moment in the reader's zone; UTC is in its title, or beside it where there is room (`UtcTime`). */
export function Time({ at, precision = "minute", relative = false }: Props) {
  if (at === null) return <span class="none">never</span>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={utc(at)}>
      {relative ? describeDistance(date, new Date(serverNow())) : (precision === "day" ? DAY : SHOWN).format(date)}
    </time>
  );
}

export const UtcTime = ({ at }: { at: string | null }) => (
  <>
    <Time at={at} />
    {at !== null && <span class="utc">{utc(at)}</span>}
  </>
);

/** "2026-11-23 11:16 UTC" */
export const utc = (at: string) => `${at.slice(0, 16).replace("T", " ")} UTC`;

/** "in 3 days", "2 hours ago" */
function describeDistance(date: Date, now: Date) {
  const seconds = Math.round((date.getTime() - now.getTime()) / 1_000);
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? (["second", 1] as const);
  return RELATIVE.format(Math.trunc(seconds / length), unit);
}

/** "1 day", "2 hours": to the minute, as an answer's Date leaves parts of a second out. */
export function describeLength(milliseconds: number) {
  const seconds = Math.round(milliseconds / 60_000) * 60;
  const [unit, length] = UNITS.find(([, each]) => seconds >= each) ?? (["minute", 60] as const);
  return new Intl.NumberFormat(undefined, { style: "unit", unit, unitDisplay: "long" }).format(Math.round(seconds / length));
}

/** A day without an hour ("2030-01-31"), as the reader writes days. */
export const Day = ({ on }: { on: string | null }) => (on === null ? <span class="none">none</span> : <time dateTime={on}>{describeDay(on)}</time>);

const describeDay = (on: string) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" }).format(new Date(on));
