import { type Command, Option } from "commander";
import { version } from "../../../package.json";
import { renderCompose } from "./compose";
import { renderService } from "./service";

/** The unit's path of the program when this one runs from its sources, and is no executable itself. */
const USUAL_PROGRAM = "/usr/local/bin/certitude";
const PRINTED = ["systemd", "compose"] as const;
const isExecutable = Bun.main.startsWith("/$bunfs/");

export const addInstall = (program: Command) =>
  program
    .command("install")
    .description("Print what runs the server on a machine: a hardened systemd unit, or a compose file with a Postgres.")
    .addOption(new Option("--print [what]", "what to print").choices(PRINTED).preset("systemd").makeOptionMandatory())
    .addHelpText("after", "\nIt installs nothing: the first lines of what it prints say where it belongs. The compose file is for Compose 1.29 and later.")
    .action(({ print }: { print: (typeof PRINTED)[number] }) => {
      console.info((print === "compose" ? renderCompose(version) : renderService(isExecutable ? process.execPath : USUAL_PROGRAM)).trimEnd());
    });
