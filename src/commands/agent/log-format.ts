import { fstatSync } from "node:fs";
import { Option } from "commander";
import { createFileLog, createJsonLog, createLog } from "#log/log";

export type LogFormat = "auto" | "text" | "json";

export const logFormatOption = () =>
  new Option("--log-format <format>", "text for a person, json for a program; auto: text on a terminal and in a file by hand, json for a service")
    .choices(["auto", "text", "json"])
    .default("auto");

/** Returns the log of the agent as it runs. */
export function createAgentLog(format: LogFormat) {
  if (format === "auto" ? !isForPerson() : format === "json") return createJsonLog("info");
  return process.stdout.isTTY ? createLog("info") : createFileLog("info");
}

/** A journal reads a socket, a container's log a pipe; systemd names the process of a service, which may write to a file too. */
const isForPerson = () => process.stdout.isTTY || (fstatSync(1).isFile() && Bun.env.SYSTEMD_EXEC_PID !== `${process.pid}`);
