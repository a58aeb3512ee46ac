import { type Command, CommanderError } from "commander";
import { printableLines } from "#text/printable";

/** Runs one command. Faults become a sentence on standard error and the exit code. */
export async function runCommand(program: Command, argv: string[]) {
  try {
    await program.parseAsync(argv);
  } catch (error) {
    process.exit(exitCodeOf(error)); // whatever a command left open
  }
}

function exitCodeOf(error: unknown) {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  console.error(printableLines(error instanceof Error ? error.message : String(error)));
  return error instanceof Error && "exitCode" in error && typeof error.exitCode === "number" ? error.exitCode : 1;
}
