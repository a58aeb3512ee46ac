import { useSignal } from "@preact/signals";
import type { MailFrequency } from "#modules/notifications/events/rules/kind";
import type { NoticeKind } from "#modules/notifications/events/rules/kinds";
import { address, write } from "../../api";
import { isPerson } from "../../auth/session";
import { Loaded } from "../../parts/empty";
import { namesOf } from "../../parts/entries";
import { labelOf } from "../../parts/fields";
import { Form, type Values } from "../../parts/form";
import { PageHeading } from "../../parts/heading";
import { PersonsOnly } from "../../parts/persons-only";
import { toast } from "../../parts/toast";
import { type Reading, useRead } from "../../reading";
import { NotificationTabs } from "./tabs";
import type { Preferences } from "./types";

const PATH = address("users", "me", "notifications", "preferences");

type Mail = Preferences["mail"];

export const PreferencesPage = () => (isPerson.value ? <OwnPreferences /> : <PersonsOnly title="Notifications" />);

function OwnPreferences() {
  const reading = useRead(PATH);
  return (
    <>
      <PageHeading title="Notifications" intro="Of what you get mail. Your inbox has everything, whatever is mailed." />
      <NotificationTabs />
      <Loaded from={reading}>{(preferences) => <PreferencesForm key={preferences.version} of={preferences} reading={reading} />}</Loaded>
    </>
  );
}

function PreferencesForm({ of, reading }: { of: Preferences; reading: Reading<Preferences> }) {
  const mail = useSignal<Partial<Mail>>({});
  async function save(values: Values) {
    const body = { ...values, ...(Object.keys(mail.value).length > 0 && { mail: mail.value }) };
    await write("PATCH", PATH, { body, version: of.version });
    await reading.reload();
    toast("Your preferences are saved.");
  }
  return (
    <Form
      fields={[
        {
          name: "timeZone",
          label: "Your time zone",
          kind: "text",
          required: true,
          suggestions: Intl.supportedValuesOf("timeZone"),
          hint: `This browser is in ${ownZone()}.`,
        },
        { name: "digestHour", label: "Hour of the daily digest", kind: "number", required: true, hint: "0 to 23, in that time zone." },
      ]}
      values={of}
      submit="Save"
      onSubmit={save}
    >
      <MailTable
        of={of.mail}
        onChoose={(kind, frequency) => {
          mail.value = { ...mail.value, [kind]: frequency };
        }}
      />
    </Form>
  );
}

const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

const FREQUENCIES: [MailFrequency, string][] = [
  ["at_once", "At once"],
  ["daily", "Daily"],
  ["off", "Off"],
];

type Choose = (kind: NoticeKind, frequency: MailFrequency) => void;

const MailTable = ({ of, onChoose }: { of: Mail; onChoose: Choose }) => (
  <div class="choices">
    <table>
      <caption class="hidden">Mail for each kind of notice</caption>
      <thead>
        <tr>
          <th scope="col">Mail of</th>
          {FREQUENCIES.map(([name, label]) => (
            <th key={name} scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {namesOf(of).map((kind) => (
          <tr key={kind}>
            <th scope="row">{labelOf(kind)}</th>
            {FREQUENCIES.map(([frequency, label]) => (
              <td key={frequency}>
                <input
                  type="radio"
                  name={kind}
                  aria-label={`${labelOf(kind)}: ${label}`}
                  defaultChecked={of[kind] === frequency}
                  onChange={() => onChoose(kind, frequency)}
                />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
