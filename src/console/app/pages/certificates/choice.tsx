import type { Signal } from "@preact/signals";
import { inOrganization } from "../../api";
import { Choice } from "../../parts/choice";

type Props = { label: string; chosen: Signal<string>; hint?: string };

/** Chooses an active certificate, by words that it has. */
export const CertificateChoice = (props: Props) => (
  <Choice
    {...props}
    path={inOrganization("certificates")}
    query={{ status: "active" }}
    search="q"
    option={({ id, commonName, subject, notAfter }) => ({ id, name: `${commonName || subject}, until ${notAfter.slice(0, 10)}` })}
  />
);
