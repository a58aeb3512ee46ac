import type { Command } from "commander";
import { CommandError } from "../command-error";
import { examine } from "./examine";
import type { Finding, State } from "./finding";

const MARKS: Record<State, string> = { ok: "✓", warning: "!", failed: "✗", unused: "–" };

export const addDoctor = (program: Command) =>
  program
    .command("doctor")
    .description("Look at configuration, database, migrations, clock, keys, stamps, tokens, gateway, TLS, mail and storage, and say what to do.")
    .option("--json", "print the findings as one JSON array")
    .addHelpText(
      "after",
      "\nIt changes nothing that is there. Exit code 1 where something failed. The embedded database can be checked while no server has it.",
    )
    .action(async ({ json = false }: { json?: boolean }) => {
      process.umask(0o077);
      const findings: Finding[] = [];
      for await (const finding of examine(Bun.env)) {
        findings.push(finding);
        if (!json) console.info(describe(finding));
      }
      if (json) console.info(JSON.stringify(findings, null, 2));
      const failures = findings.filter(({ state }) => state === "failed").map(({ part }) => part);
      if (failures.length > 0) throw new CommandError(`Failed: ${failures.join(", ")}.`);
    });

/** The mark is no colour alone, so that a log and a screen reader have it too. */
const describe = ({ part, state, message }: Finding) => `${MARKS[state]} ${part.padEnd(14)} ${message.replaceAll("\n", `\n${" ".repeat(17)}`)}`;
