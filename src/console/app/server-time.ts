import { signal } from "@preact/signals";

/** A difference is the way of an answer, and a clock that is set by hand: it is left alone. */
const TOLERANCE_MS = 60_000;

/** Milliseconds that the server's clock is ahead of the browser's. */
export const clockDifference = signal(0);

/** Takes the header `Date` of an answer that has just come. */
export function noteServerTime(date: string | null) {
  const difference = Date.parse(date ?? "") - Date.now();
  if (Number.isNaN(difference) || Math.abs(difference - clockDifference.value) < TOLERANCE_MS) return;
  clockDifference.value = Math.abs(difference) < TOLERANCE_MS ? 0 : difference;
}

/** Now, in milliseconds, by the server's clock: what is left until a certificate ends does not depend on the browser's. */
export const serverNow = () => Date.now() + clockDifference.value;
