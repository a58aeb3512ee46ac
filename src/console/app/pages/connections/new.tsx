import { inOrganization, write } from "../../api";
import { Badge } from "../../parts/badge";
import { Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { labelOf } from "../../parts/fields";
import { Form, type Values } from "../../parts/form";
import { PageHeading } from "../../parts/heading";
import { toast } from "../../parts/toast";
import { go, link } from "../../router";
import { useKinds } from "./list";
import { settingsBody, settingsFields, settingsValues } from "./settings";
import type { ConnectionKind } from "./types";

const TESTS = {
  credentials: "Its test shows whether the credentials are accepted.",
  reachability: "Its test shows whether it answers.",
  message: "Its test sends a message that is marked as a test.",
};

export function NewConnectionPage({ kind }: { kind?: string }) {
  const kinds = useKinds();
  const chosen = kinds.data.value?.items.find((each) => each.kind === kind);
  const back = chosen ? { label: "Other kinds", href: link("connections/new") } : { label: "Connections", href: link("connections") };
  return (
    <>
      <PageHeading
        title={chosen ? `Connect ${chosen.displayName}` : "New connection"}
        intro={chosen ? [TESTS[chosen.test], chosen.experimental].filter(Boolean).join(" ") : "What do you want to connect?"}
        back={back}
      />
      <Loaded from={kinds}>{({ items }) => (chosen ? <NewConnection key={chosen.kind} kind={chosen} /> : <Kinds of={items} />)}</Loaded>
    </>
  );
}

const Kinds = ({ of }: { of: ConnectionKind[] }) => (
  <div class="stack">
    {[...Map.groupBy(of, ({ category }) => category)].map(([category, kinds]) => (
      <section key={category}>
        <h2>{labelOf(category.replaceAll("_", " "))}</h2>
        <ul class="tiles">
          {kinds.map(({ kind, displayName, experimental }) => (
            <li key={kind}>
              <a class="tile" href={link(`connections/new/${kind}`)}>
                <b>{displayName}</b>
                {experimental && <Badge tone="calm" text="experimental" />}
              </a>
            </li>
          ))}
        </ul>
      </section>
    ))}
  </div>
);

function NewConnection({ kind }: { kind: ConnectionKind }) {
  async function create(values: Values) {
    const created = await write("POST", inOrganization("core", "connections"), { body: { kind: kind.kind, ...settingsBody(values) } });
    toast(`${created.name} was made. Test it now.`);
    go(link(`connections/${created.id}`));
  }
  return (
    <div class="narrow">
      <Card title="Settings" {...(kind.note && { hint: kind.note })}>
        <Form fields={settingsFields(kind)} values={settingsValues(kind)} submit="Connect" onCancel={() => go(link("connections/new"))} onSubmit={create} />
      </Card>
    </div>
  );
}
