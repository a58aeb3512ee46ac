import { address, read, write } from "../../api";
import { isPerson, type Membership, session, startSession } from "../../auth/session";
import { signOut } from "../../auth/sign-out";
import type { OnServer } from "../../operations";
import { Badge } from "../../parts/badge";
import { EmptyState, Loaded } from "../../parts/empty";
import { Card, Facts } from "../../parts/facts";
import { Form, type Values } from "../../parts/form";
import { PageHeading } from "../../parts/heading";
import { PersonsOnly } from "../../parts/persons-only";
import { UtcTime } from "../../parts/time";
import { toast } from "../../parts/toast";
import { type Reading, useRead } from "../../reading";
import { ROLES } from "./roles";

type Me = OnServer<["users", "me"]>;

export const ProfilePage = () => (isPerson.value ? <Profile /> : <PersonsOnly title="Profile" />);

function Profile() {
  const reading = useRead(address("users", "me"));
  return (
    <>
      <PageHeading
        title="Profile"
        intro="Who you are here, and where you belong."
        actions={
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        }
      />
      <Loaded from={reading}>
        {(me) => (
          <div class="columns">
            <Card title="Your name" hint="Other members see it beside what you do.">
              <Names key={me.version} me={me} reading={reading} />
            </Card>
            <div>
              <Card title="Account">
                <Facts
                  of={[
                    ["E-mail", me.email],
                    ["User id", <code>{me.id}</code>],
                    ["Here since", <UtcTime at={me.createdAt} />],
                    ...(me.platformAdmin ? ([["Platform", <Badge tone="info" icon="shield" text="staff" />]] as const) : []),
                  ]}
                />
              </Card>
              <Card title="Organizations">
                <Organizations of={me.memberships} />
              </Card>
            </div>
          </div>
        )}
      </Loaded>
    </>
  );
}

function Names({ me, reading }: { me: Me; reading: Reading<Me> }) {
  async function save(values: Values) {
    await write("PATCH", address("users", "me", "profile"), { body: values, version: me.version, resource: address("users", "me") });
    await showNewName();
    await reading.reload();
    toast("Your name is saved.");
  }
  return (
    <Form
      fields={[
        { name: "displayName", label: "Short name", kind: "text", placeholder: "Ada" },
        { name: "fullName", label: "Full name", kind: "text", placeholder: "Ada Lovelace" },
      ]}
      values={me}
      submit="Save"
      onSubmit={save}
    />
  );
}

async function showNewName() {
  const me = await read(address("users", "me"));
  const name = me.displayName ?? me.fullName ?? me.email ?? me.id;
  if (session.value) startSession({ ...session.value, person: { ...session.value.person, name } });
}

const Organizations = ({ of }: { of: Membership[] }) =>
  of.length === 0 ? (
    <EmptyState title="You belong to no organization yet." hint="Ask an administrator to invite you: the invitation arrives by mail." />
  ) : (
    <ul class="plain-list">
      {of.map(({ organizationId, organizationName, role }) => (
        <li key={organizationId}>
          <a href={`#/o/${organizationId}/`}>{organizationName}</a>
          <span class="fine">{ROLES[role]}</span>
        </li>
      ))}
    </ul>
  );
