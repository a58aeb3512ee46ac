import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { Dialog } from "../../parts/dialog";
import { Form, type Values } from "../../parts/form";
import { CertificateChoice } from "../certificates/choice";
import { assignmentFields, assignmentPatch, assignmentValues } from "./assignment-actions";
import { POLICY_FIELDS } from "./new-policy";
import { PolicyPreview } from "./policy-preview";
import type { Policy, Reach } from "./types";

type Props = { of: Policy; onSave: (body: Values) => Promise<void>; onClose: () => void };

/** Changes a policy, after a preview. */
export function ChangePolicy({ of, onSave, onClose }: Props) {
  const certificateId = useSignal("");
  const preview = useSignal<{ body: Values; reach: Reach } | undefined>(undefined);
  async function ask({ name = null, selector = null, ...values }: Values) {
    const body = { name, selector, ...(certificateId.value && { certificateId: certificateId.value }), ...assignmentPatch(of, values) };
    preview.value = { body, reach: await write("PATCH", inOrganization("assignment-policies", of.id), { body: { ...body, dryRun: true } }) };
  }
  const [shown, close] = [preview.value, () => (preview.value = undefined)];
  return (
    <Dialog title="Change the policy" onClose={onClose}>
      <div class="form">
        <CertificateChoice label="Another certificate" chosen={certificateId} hint="Without one, the certificate stays." />
        <Form
          submit="Preview"
          values={{ name: of.name, selector: of.selector, ...assignmentValues(of) }}
          onCancel={onClose}
          onSubmit={ask}
          fields={[...POLICY_FIELDS, ...assignmentFields(of)]}
        />
      </div>
      {shown && <PolicyPreview of={shown.reach} submit="Change the policy" onConfirm={() => onSave(shown.body)} onClose={close} />}
    </Dialog>
  );
}
