import { inOrganization, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { DeleteButton } from "../../parts/delete";
import { Loaded } from "../../parts/empty";
import { Card, Facts } from "../../parts/facts";
import { labelOf } from "../../parts/fields";
import { Form, type Values } from "../../parts/form";
import { PageHeading } from "../../parts/heading";
import { UtcTime } from "../../parts/time";
import { toast } from "../../parts/toast";
import { useRead } from "../../reading";
import { go, link } from "../../router";
import { TestBadge, useKinds } from "./list";
import { settingsBody, settingsFields, settingsValues } from "./settings";
import { TestCard } from "./test";
import type { Connection, ConnectionAddress, ConnectionKind } from "./types";

export function ConnectionPage({ id }: { id: string }) {
  const path = inOrganization("core", "connections", id);
  const reading = useRead(path);
  const kinds = useKinds();
  const shown = reading.data.value;
  const kind = kinds.data.value?.items.find((each) => each.kind === shown?.kind);
  return (
    <>
      <PageHeading
        title={shown?.name ?? "Connection"}
        back={{ label: "Connections", href: link("connections") }}
        {...(shown && { intro: <TestBadge of={shown.lastTest} /> })}
        {...(shown && isAdmin.value && { actions: <DeleteConnection path={path} of={shown} /> })}
      />
      <Loaded from={reading}>
        {(connection) => (
          <div class="columns">
            <div>
              {kind &&
                (isAdmin.value ? (
                  <Settings key={connection.version} path={path} of={connection} kind={kind} reload={reading.reload} />
                ) : (
                  <Config of={connection} />
                ))}
            </div>
            <div>
              <TestCard path={path} of={connection} reload={reading.reload} />
              <Card title="About">
                <Facts
                  of={[
                    ["Kind", kind?.displayName ?? connection.kind],
                    ["Secrets", connection.secretNames.map(labelOf).join(", ") || null],
                    ["Made", <UtcTime at={connection.createdAt} />],
                    ["Changed", <UtcTime at={connection.updatedAt} />],
                  ]}
                />
              </Card>
            </div>
          </div>
        )}
      </Loaded>
    </>
  );
}

function DeleteConnection({ path, of: { name, version } }: { path: ConnectionAddress; of: Connection }) {
  async function remove() {
    await write("DELETE", path, { version });
    toast(`${name} was deleted, with its secrets.`);
    go(link("connections"));
  }
  return <DeleteButton name={name} onConfirmed={remove} />;
}

type Props = { path: ConnectionAddress; of: Connection; kind: ConnectionKind; reload: () => Promise<void> };

function Settings({ path, of: connection, kind, reload }: Props) {
  async function save(values: Values) {
    await write("PATCH", path, { body: settingsBody(values, connection.config), version: connection.version });
    await reload();
    toast("Saved. Test it once more.");
  }
  return (
    <Card title="Settings" hint={kind.note ?? "Secrets are sealed and never shown: an empty field keeps what is there."}>
      <Form fields={settingsFields(kind, connection.secretNames)} values={settingsValues(kind, connection)} submit="Save" onSubmit={save} />
    </Card>
  );
}

const Config = ({ of: { config } }: { of: Connection }) => (
  <Card title="Settings">
    <Facts of={Object.entries(config).map(([name, value]) => [labelOf(name), typeof value === "string" ? value : JSON.stringify(value)])} />
  </Card>
);
