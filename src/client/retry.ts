/** Waits as long as the answer's Retry-After asks. Returns false at once where it asks for nothing, or for more than `longest` seconds. */
export async function waitAsAsked({ headers, body }: Response, longest: number, signal?: AbortSignal | null) {
  const seconds = readRetryAfter(headers.get("retry-after"));
  if (seconds === undefined || seconds > longest) return false;
  await body?.cancel();
  await pause(seconds * 1_000, signal);
  return true;
}

/** Returns the seconds of a Retry-After (RFC 9110, 10.2.3): a number of them, or a date. */
function readRetryAfter(value: string | null) {
  if (value === null) return;
  if (/^\d+$/.test(value)) return Number(value);
  const milliseconds = Date.parse(value) - Date.now();
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds / 1_000);
}

/** Rejects with the signal's reason as soon as it is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal | null) {
  return new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
