import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { Badge } from "../../parts/badge";
import { Dialog } from "../../parts/dialog";
import { Card, Facts } from "../../parts/facts";
import { Form, type Values } from "../../parts/form";
import { UtcTime } from "../../parts/time";
import { JoinLine } from "./join-line";
import type { Agent, NewJoinToken } from "./types";

const ACCESS: Record<Agent["access"], string> = {
  "long-lived": "A long-lived token",
  key: "The key of its host",
  none: "None: what it had has ended",
};

/** How the agent proves who it is, and new credentials for it. */
const HELD = "It is not let in: nothing proves that a server gave it its token or key. Replace its credentials, or run certitude secrets trust.";

export function Credentials({ of: agent, onDone }: { of: Agent; onDone: () => void }) {
  const isOpen = useSignal(false);
  const made = useSignal<NewJoinToken | undefined>(undefined);
  async function replace(body: Values) {
    made.value = await write("POST", inOrganization("agents", agent.id, "credentials"), { body });
    onDone();
  }
  function close() {
    isOpen.value = false;
    made.value = undefined;
  }
  return (
    <Card
      title="Credentials"
      actions={
        isAdmin.value && (
          <button type="button" onClick={() => (isOpen.value = true)}>
            Replace
          </button>
        )
      }
    >
      <Facts
        of={[
          ["Proves itself by", ACCESS[agent.access]],
          ...(agent.heldSince ? ([["Held", HELD]] as const) : []),
          ...(agent.accessEndsAt ? ([["Ends", <UtcTime at={agent.accessEndsAt} />]] as const) : []),
          [
            "Misuse",
            agent.credentialMisusedAt ? (
              <>
                <Badge tone="bad" icon="warning" text="copied" /> Shown without its key <UtcTime at={agent.credentialMisusedAt} />
              </>
            ) : (
              "None seen"
            ),
          ],
        ]}
      />
      {isOpen.value && (
        <Dialog title={made.value ? "Paste this on the host" : "Replace the credentials"} onClose={close}>
          {made.value ? (
            <JoinLine of={made.value} onDone={close} />
          ) : (
            <Form
              submit="Replace"
              isDangerous
              values={{ overlapSeconds: 86_400 }}
              onCancel={close}
              onSubmit={replace}
              fields={[
                {
                  name: "overlapSeconds",
                  label: "Seconds that what it has now goes on",
                  kind: "number",
                  required: true,
                  hint: "0 ends it at once, as after a theft. A day (86,400) at most; it ends sooner when the host has joined again.",
                },
              ]}
            />
          )}
        </Dialog>
      )}
    </Card>
  );
}
