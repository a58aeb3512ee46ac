import type { Command } from "commander";
import { CommandError } from "./command-error";
import { readConfigOrExit } from "./environment";

export const addHealthcheck = (program: Command) =>
  program
    .command("healthcheck")
    .description("Ask the server on this machine whether it is ready: exit code 0 or 1.")
    .option("--url <url>", "another address than HOST and PORT")
    .action(async ({ url }: { url?: string }) => {
      const target = url ?? `${localAddress()}/health/ready`;
      const answer = await fetch(target, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
      if (!answer?.ok) throw new CommandError(`${target} ${answer ? `answered ${answer.status}` : "cannot be reached"}.`);
      console.info("ready");
    });

function localAddress() {
  const { host, port } = readConfigOrExit();
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host;
  return `http://${reachable}:${port}`;
}
