import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "#config";
import { quoteWord } from "#text/shell-words";
import { placesIn } from "./agents";
import type { Reach } from "./reach";

type Shown = Reach & { consoleUrl: string; organizationId: string; userId: string; config: Pick<Config, "dataDir" | "databaseUrl"> };

/** Returns text for a person: things to see and commands to paste. Commands work in any directory; none shows a token. */
export function summarize({ base, curl, agentOptions, consoleUrl, organizationId, userId, config }: Shown) {
  const dataDir = resolve(config.dataDir);
  const secrets = config.databaseUrl ? "" : `DATA_DIR=${quoteWord(dataDir)} `;
  return `
Certitude is ready. The console, signed in (this link works once, for ten minutes):
  ${consoleUrl}

Documentation: ${base}/swagger

A token, for that page and for the next command:
  TOKEN=$(${secrets}${program()} token --user ${userId}); echo $TOKEN

Which certificates expire next?
  ${curl} ${base}/organizations/${organizationId}/certs/monitoring/top-expiring \\
    -H "x-organization-id: ${organizationId}" -H "x-organization-role: ORG_ADMIN" -H "authorization: Bearer $TOKEN"
${describeAgent(`--server ${base}${agentOptions}`, dataDir)}`;
}

function describeAgent(options: string, dataDir: string) {
  const { token, state, policy, bundle } = placesIn(dataDir);
  if (!existsSync(token)) return "";
  return `
An agent that keeps a trusted root in ${bundle}. Spoil that file, and run it again:
  ${program()} agent ${options} --once \\
    --token-file ${quoteWord(token)} --state-dir ${quoteWord(state)} --policy ${quoteWord(policy)}
`;
}

/** How this program is called again. */
function program() {
  if (Bun.main.startsWith("/$bunfs/")) return quoteWord(process.execPath);
  const known = Bun.which("bun");
  const runtime = known && realpathSync(known) === realpathSync(process.execPath) ? "bun" : process.execPath;
  return `${quoteWord(runtime)} ${quoteWord(Bun.main)}`;
}
