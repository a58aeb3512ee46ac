import { InvalidArgumentError } from "commander";
import { isUuid } from "#text/uuid";

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Returns the seconds of an argument such as 90s, 15m, 8h or 30d. */
export function readDuration(value: string) {
  const [, amount, unit = "s"] = /^([1-9]\d{0,6})([smhd])?$/.exec(value) ?? [];
  if (amount === undefined) throw new InvalidArgumentError("It must be a duration such as 90s, 15m, 8h or 30d.");
  return Number(amount) * (SECONDS[unit] ?? 1);
}

/** Returns an argument that is a UUID, in lower case. */
export function readUuid(value: string) {
  if (!isUuid(value)) throw new InvalidArgumentError("It must be a UUID.");
  return value.toLowerCase();
}

const MAX_WORKERS = 64;

/** Returns how many processes shall serve. */
export function readWorkers(value: string) {
  if (!/^[1-9]\d?$/.test(value) || Number(value) > MAX_WORKERS) throw new InvalidArgumentError(`It must be a number from 1 to ${MAX_WORKERS}.`);
  return Number(value);
}
