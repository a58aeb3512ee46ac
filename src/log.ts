import pino, { type Logger } from "pino";
import pretty from "pino-pretty";
import type { Config } from "./config";

/** JSON lines on standard output; readable ones when a person is watching. */
export function createLog(level: Config["logLevel"]): Logger {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (process.stdout.isTTY) return pino(options, pretty({ colorize: true, sync: true, singleLine: true }));
  return pino(options, pino.destination({ fd: 1, sync: false, minLength: 0 }));
}
