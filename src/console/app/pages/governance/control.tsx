import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { nameOfUser, useMembers } from "../../members";
import { Loaded } from "../../parts/empty";
import { Card, Facts } from "../../parts/facts";
import { PageHeading } from "../../parts/heading";
import { Day, Time } from "../../parts/time";
import { toast } from "../../parts/toast";
import { type Reading, useRead } from "../../reading";
import { link } from "../../router";
import { Changes } from "./changes";
import { ControlStanding } from "./controls";
import { EditControl } from "./edit";
import { EvidenceList } from "./evidence";
import type { ChangeControl, Control, ControlAddress, ControlWithHistory } from "./types";

export function ControlPage({ framework, id }: { framework: string; id: string }) {
  const path = inOrganization("ai-governance", "frameworks", framework, "controls", id);
  const reading = useRead(path);
  useMembers();
  const isEditing = useSignal(false);
  const shown = reading.data.value;
  const change = changer(path, reading);
  return (
    <>
      <PageHeading
        title={shown?.title ?? "Control"}
        back={{ label: "Controls", href: link(`governance/${framework}`) }}
        {...(shown && { intro: <ControlStanding of={shown} /> })}
        {...(shown && isAdmin.value && { actions: <EditButton onClick={() => (isEditing.value = true)} /> })}
      />
      <Loaded from={reading}>
        {(control) => (
          <div class="columns">
            <div>
              <Card title={control.ref}>
                <p class="prose">{control.summary}</p>
                <Details of={control} />
              </Card>
              <EvidenceList of={control} change={change} />
            </div>
            <Card title="Changes" hint="The latest first; evidence as it was written.">
              <Changes key={control.version} path={path} of={control} />
            </Card>
            {isEditing.value && <EditControl of={control} change={change} onClose={() => (isEditing.value = false)} />}
          </div>
        )}
      </Loaded>
    </>
  );
}

const changer =
  (path: ControlAddress, { data, reload }: Reading<ControlWithHistory>): ChangeControl =>
  async (change) => {
    if (!data.value) return;
    const { status, version } = data.value;
    await write("PATCH", path, { body: { status, ...change }, version });
    await reload();
    toast("Saved.");
  };

const EditButton = ({ onClick }: { onClick: () => void }) => (
  <button type="button" class="primary" onClick={onClick}>
    Change
  </button>
);

const Details = ({ of: control }: { of: Control }) => (
  <Facts
    of={[
      ["Group", control.group],
      ...(control.roles ? ([["Binds", words(control.roles)]] as const) : []),
      ...(control.scope ? ([["About", words([control.scope])]] as const) : []),
      ...(control.applies ?? []).map(({ when, from }) => [`Applies, ${words([when])}`, <Day on={from} />] as const),
      ["Owner", nameOfUser(control.ownerId) ?? control.ownerId ?? "—"],
      ["Due", <Day on={control.dueDate} />],
      ["Note", control.note],
      ["Changed", <Time at={control.updatedAt} />],
    ]}
  />
);

const words = (texts: string[]) => texts.map((each) => each.replaceAll("_", " ")).join(", ");
