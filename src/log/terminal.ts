import type { DestinationStream } from "pino";
import { escapeInvisible } from "#text/printable";

type Entry = Record<string, unknown> & { level: number; msg?: string };
type Request = Entry & { method: string; route: string; status: number; ms: number; reason?: string };
type Failure = { type?: string; message?: string; stack?: string; cause?: Failure };

const COLORS = { red: 31, green: 32, yellow: 33, cyan: 36, gray: 90 };
type Color = keyof typeof COLORS;

/** Fields that a person who watches does not need. */
const HIDDEN = new Set(["level", "time", "msg", "err", "requestId"]);
/** Of a longer list, and of an empty one, only the length is shown. */
const LONGEST_LIST = 3;
/** Removes what the terminal shows in the current line, such as a progress line. */
export const CLEAR_LINE = "\r\x1b[K";

type Terminal = Pick<NodeJS.WriteStream, "write" | "isTTY">;

/** Shows the log's JSON lines to a person: a request is one short line. Colors are for a terminal, unless NO_COLOR is set. */
export function terminalLog(terminal: Terminal = process.stdout, isColored = terminal.isTTY && !Bun.env.NO_COLOR): DestinationStream {
  const show = (line: string) => formatEntry(JSON.parse(line), isColored);
  return {
    write: (lines) => void terminal.write(`${terminal.isTTY ? CLEAR_LINE : ""}${lines.trimEnd().split("\n").map(show).join("\n")}\n`),
  };
}

/** Writes the same to a file that a person reads later: each line with its time, without colors. */
export const fileLog = (write: (text: string) => void): DestinationStream => ({
  write: (lines) => write(`${lines.trimEnd().split("\n").map(timed).join("\n")}\n`),
});

function timed(line: string) {
  const entry: Entry = JSON.parse(line);
  return `${entry.time} ${formatEntry(entry, false)}`;
}

function formatEntry(entry: Entry, isColored: boolean) {
  const paint = (color: Color, text: string) => (isColored ? `\x1b[${COLORS[color]}m${text}\x1b[39m` : text);
  if (isRequest(entry)) return formatRequest(entry, paint);
  const label = labelOf(entry.level);
  const fields = Object.entries(entry).filter(([name]) => !HIDDEN.has(name));
  const details = fields.map(([name, value]) => paint("gray", escapeInvisible(`${name}=${formatValue(value)}`)));
  return [...(label ? [paint(...label)] : []), escapeInvisible(entry.msg ?? ""), ...details].join(" ") + formatFailure(entry.err as Failure | undefined, paint);
}

type Paint = (color: Color, text: string) => string;

const isRequest = (entry: Entry): entry is Request => typeof entry.status === "number" && typeof entry.route === "string";

/** `200 GET /organizations/…/certificates 3 ms`, and why it was refused. */
function formatRequest({ status, method, route, ms, reason }: Request, paint: Paint) {
  const path = route === "unknown" ? "(no such route)" : route.replace(/:\w+|\*/g, "…");
  const line = `${paint(colorOf(status), `${status}`)} ${method} ${path} ${paint("gray", `${ms < 1 ? ms.toFixed(1) : Math.round(ms)} ms`)}`;
  return reason ? `${line} ${paint("gray", escapeInvisible(reason))}` : line;
}

function colorOf(status: number): Color {
  if (status >= 500) return "red";
  if (status >= 400) return "yellow";
  return status >= 300 ? "cyan" : "green";
}

function labelOf(level: number): [Color, string] | undefined {
  if (level >= 50) return ["red", "error"];
  if (level >= 40) return ["yellow", "warn"];
  return level < 30 ? ["gray", "debug"] : undefined;
}

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 || value.length > LONGEST_LIST ? `${value.length}` : value.map(formatValue).join(",");
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return /\s/.test(String(value)) ? JSON.stringify(value) : String(value);
}

function formatFailure(failure: Failure | undefined, paint: Paint): string {
  if (!failure) return "";
  const head = `\n  ${escapeLines([failure.type, failure.message].filter(Boolean).join(": "))}`;
  const stack = failure.stack ? `\n${paint("gray", escapeLines(failure.stack))}` : "";
  return head + stack + formatFailure(failure.cause, paint);
}

const escapeLines = (text: string) => text.split("\n").map(escapeInvisible).join("\n");
