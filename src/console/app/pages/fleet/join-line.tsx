import { CopyButton } from "../../parts/copy";
import { Done } from "../../parts/dialog";
import { Time } from "../../parts/time";
import type { NewJoinToken } from "./types";

/** The server's address: the console is one step below it. */
const serverUrl = () => new URL("..", location.href.split("#")[0]).href.replace(/\/$/, "");

/** The line that makes a host an agent. Its token is shown this once. */
export function JoinLine({ of: { token, expiresAt }, onDone }: { of: NewJoinToken; onDone: () => void }) {
  const line = `certitude agent join --server ${serverUrl()} --token ${token}`;
  return (
    <div class="stack">
      <pre class="line-to-paste">
        <code>{line}</code>
      </pre>
      <p class="fine">
        The token is shown this once, and ends <Time at={expiresAt} relative />. Then start the agent on the host: <code>certitude agent</code>
      </p>
      <Done onClick={onDone}>
        <CopyButton text={line} label="Copy the line" />
      </Done>
    </div>
  );
}
