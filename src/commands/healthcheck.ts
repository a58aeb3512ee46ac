import type { Command } from "commander";
import { CommandError } from "./command-error";
import { readConfigOrExit } from "./environment";

const READY = "/health/ready";

export const addHealthcheck = (program: Command) =>
  program
    .command("healthcheck")
    .description("Ask the server on this machine whether it is ready: exit code 0 or 1.")
    .option("--url <url>", "the server's address, where it is another than HOST and PORT: https://certitude.example")
    .addHelpText("after", "\nFor Docker, among others. An authority of your own is trusted by NODE_EXTRA_CA_CERTS=FILE, in PEM.")
    .action(async ({ url }: { url?: string }) => {
      const target = readyAt(url ?? localAddress());
      const tls = { rejectUnauthorized: url !== undefined }; // the certificate names the server, and not this machine's own address
      const answer = await fetch(target, { signal: AbortSignal.timeout(5_000), tls }).catch((error: Error) => error);
      if (answer instanceof Error) throw new CommandError(`${target} cannot be reached: ${answer.message}`);
      if (!answer.ok) throw new CommandError(`${target} answered ${answer.status}.`);
      console.info("ready");
    });

/** Below the server's address, which may have a path; an address of /health/ready itself stays as it is. */
function readyAt(address: string) {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) throw new CommandError(`--url must be an address that starts with https:// or http://, not "${address}".`, 2);
  const path = url.pathname.replace(/\/$/, "");
  return url.origin + (path.endsWith(READY) ? path : path + READY);
}

function localAddress() {
  const { host, port, tls } = readConfigOrExit();
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host;
  return `${tls ? "https" : "http"}://${reachable}:${port}`;
}
