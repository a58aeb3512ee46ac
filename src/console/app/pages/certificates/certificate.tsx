import { inOrganization } from "../../api";
import { nameOfUser, useMembers } from "../../members";
import { Code, CopyButton } from "../../parts/copy";
import { DetailPage } from "../../parts/detail";
import { Card, Facts } from "../../parts/facts";
import { UtcTime } from "../../parts/time";
import { useRead } from "../../reading";
import { link } from "../../router";
import { CertificateActions } from "./actions";
import { Chain } from "./chain";
import { Deployments } from "./deployments";
import { History } from "./history";
import { describeKey } from "./list";
import { Orders } from "./orders";
import { Standing } from "./standing";
import type { Certificate, CertificateWithPem } from "./types";

export function CertificatePage({ id }: { id: string }) {
  const reading = useRead(inOrganization("certificates", id));
  return (
    <DetailPage
      from={reading}
      kind="Certificate"
      name={({ commonName }) => commonName}
      back={{ label: "Certificates", href: link("certificates") }}
      intro={(shown) => <Standing of={shown} />}
      actions={(shown) => <CertificateActions of={shown} onDone={() => void reading.reload()} />}
    >
      {(certificate) => (
        <div class="columns">
          <div>
            <Card title="Details" actions={<CopyButton text={certificate.pem} label="Copy PEM" />}>
              <Details of={certificate} />
            </Card>
            <Card title="Deployments" hint="Where agents keep it, and what they saw last.">
              <Deployments certificateId={id} />
            </Card>
            <Card title="Orders" hint="How it came here from an issuer, and the orders for its names.">
              <Orders of={certificate} />
            </Card>
          </div>
          <div>
            <Card title="Chain">
              <Chain of={certificate} />
            </Card>
            <History id={id} />
          </div>
        </div>
      )}
    </DetailPage>
  );
}

const Details = ({ of: shown }: { of: CertificateWithPem }) => (
  <Facts
    of={[
      ["Subject", shown.subject],
      ["Names", <Names of={shown} />],
      ["Valid from", <UtcTime at={shown.notBefore} />],
      ["Valid until", <UtcTime at={shown.notAfter} />],
      ["Key", describeKey(shown.key)],
      ["Private key", shown.hasPrivateKey ? "Kept here, sealed" : "Not kept here"],
      ["Use", [...shown.keyUsage, ...shown.extendedKeyUsage].join(", ") || "any"],
      ["Signature", shown.signatureAlgorithm],
      ["Serial number", <Code text={shown.serialNumber} label="Copy" />],
      ["SHA-256", <Code text={shown.fingerprintSha256} label="Copy" />],
      ...(shown.revokedAt
        ? ([
            ["Revoked", <UtcTime at={shown.revokedAt} />],
            ["Reason", shown.revocationReason ?? "unspecified"],
          ] as const)
        : []),
      ["Owner", shown.ownerId && <Owner id={shown.ownerId} />],
      ["Contacts", shown.contacts.join(", ") || null],
      [
        "Labels",
        Object.keys(shown.labels).length === 0 ? null : Object.entries(shown.labels).map(([name, value]) => <code key={name}>{`${name}=${value} `}</code>),
      ],
      ["Notes", shown.notes],
    ]}
  />
);

function Names({ of: { subjectAlternativeNames } }: { of: Certificate }) {
  const names = Object.values(subjectAlternativeNames).flat();
  return names.length === 0 ? <span class="none">none</span> : names.join(", ");
}

function Owner({ id }: { id: string }) {
  useMembers();
  return <>{nameOfUser(id) ?? id}</>;
}
