import { below, inOrganization, write } from "../../api";
import { ConfirmDialog } from "../../parts/confirm";
import type { ActionDialog } from "./types";

const WORDS = {
  reinstate: ["Reinstate", "Reinstated.", "The hold ends: it is as it was before. Programs that check revocation trust it again."],
  retire: [
    "Retire",
    "Retired.",
    "It stays readable, and leaves every list of valid certificates. No member is notified any more that it expires. It is not revoked.",
  ],
  return: ["Bring back", "It is in use again.", "It is in the lists of valid certificates again, and its expiry is watched."],
} as const;

/** Ends a hold, retires, or brings a retired certificate back: that is importing it once more. */
export function ChangeStatus({ of: { id, commonName, version }, pem, action, close, finish }: ActionDialog & { pem: string; action: keyof typeof WORDS }) {
  const resource = inOrganization("certificates", id);
  const [name, done, consequence] = WORDS[action];
  const calls = {
    reinstate: () => write("POST", below(resource, "reinstate"), { version, resource }),
    retire: () => write("DELETE", resource, { version }),
    return: () => write("POST", inOrganization("certificates"), { body: { pem } }),
  };
  return (
    <ConfirmDialog
      title={`${name} ${commonName}?`}
      submit={name}
      isDangerous={action === "retire"}
      onConfirm={() => calls[action]().then(() => finish(done))}
      onClose={close}
    >
      {consequence}
    </ConfirmDialog>
  );
}
