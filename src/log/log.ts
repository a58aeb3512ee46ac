import pino, { type DestinationStream, type Logger } from "pino";
import type { Config } from "#config";
import { createLogOutput } from "./output";
import { fileLog, terminalLog } from "./terminal";

/** With a line of its own for each request: pino takes six times as long, a seventh of what a small answer costs. */
export type Log = Logger & { request: (fields: object) => void };

const INFO = pino.levels.values.info;

/** JSON lines on standard output, or to `destination`; on a terminal short lines for a person. */
export function createLog(level: Config["logLevel"], destination: DestinationStream = process.stdout.isTTY ? terminalLog() : createLogOutput(1)): Log {
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } }, destination);
  const time = createTimestamp();
  const write = (fields: object) => destination.write(`{"level":${INFO},"time":"${time()}",${JSON.stringify(fields).slice(1)}\n`);
  return Object.assign(log, { request: log.isLevelEnabled("info") ? write : () => {} });
}

/** As `createLog`, where other processes write to standard output too. */
export const createSharedLog = (level: Config["logLevel"]) => createLog(level, process.stdout.isTTY ? terminalLog() : createLogOutput(1, true));

/** As `createLog`, where a program reads it, even on a terminal. */
export const createJsonLog = (level: Config["logLevel"]) => createLog(level, createLogOutput(1));

/** As `createLog`, where a person reads it in a file. */
export function createFileLog(level: Config["logLevel"]) {
  const { write, flush } = createLogOutput(1);
  return createLog(level, Object.assign(fileLog(write), { flush }));
}

/** Returns the time as ISO 8601; it is written once a millisecond, however many lines there are. */
function createTimestamp() {
  let at = 0;
  let text = "";
  return () => {
    const now = Date.now();
    if (now !== at) text = new Date(now).toISOString();
    at = now;
    return text;
  };
}

type Failure = Error & { code?: unknown; table_name?: string; constraint_name?: string };

/** An error for the log, without the values that Postgres and drizzle quote in theirs. */
function describeError(error: Failure): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, code, table_name, constraint_name, stack, cause } = error;
  return {
    type: name,
    message: hideValues(message, code),
    code,
    table: table_name,
    constraint: constraint_name,
    stack: stack
      ?.split("\n")
      .filter((line) => /^\s+at /.test(line))
      .join("\n"),
    ...(cause !== undefined && { cause: describeError(cause as Failure) }),
  };
}

/**
 * Postgres quotes the value in a data exception (class 22), drizzle lists the parameters of a failed query, Elysia the body
 * that it refused.
 */
function hideValues(message: string, code: unknown) {
  if (code === "VALIDATION") return "The answer is not as its schema says";
  const plain = message.replace(/\nparams: [\s\S]*/, "");
  return typeof code === "string" && /^22\w{3}$/.test(code) ? plain.replace(/"[\s\S]*"/, "…") : plain;
}
