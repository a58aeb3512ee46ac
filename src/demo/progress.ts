import { CLEAR_LINE } from "#log/terminal";

/** Shows what is under way: on a terminal one line that is rewritten, otherwise a line for each step. */
export function showProgress(output: Pick<NodeJS.WriteStream, "write" | "isTTY"> = process.stdout) {
  return {
    step: (name: string) => void output.write(output.isTTY ? `${CLEAR_LINE}filling the demo: ${name} …` : `filling the demo: ${name}\n`),
    end: () => void (output.isTTY && output.write(CLEAR_LINE)),
  };
}
