import { inOrganization } from "../../api";
import { Badge } from "../../parts/badge";
import { CopyButton } from "../../parts/copy";
import { DetailPage } from "../../parts/detail";
import { Card, Facts } from "../../parts/facts";
import { UtcTime } from "../../parts/time";
import { useRead } from "../../reading";
import { link } from "../../router";
import { History } from "../certificates/history";
import { AuthorityActions } from "./authority-actions";
import { AUTHORITY_TONES, type Authority, type Profile } from "./types";

const DAY = 86_400;

export function AuthorityPage({ id }: { id: string }) {
  const reading = useRead(inOrganization("authorities", id));
  return (
    <DetailPage
      from={reading}
      kind="Authority"
      name={({ name }) => name}
      back={{ label: "Authorities", href: link("authorities") }}
      intro={(shown) => <Badge tone={AUTHORITY_TONES[shown.status]} text={shown.status} />}
      actions={(shown) => <AuthorityActions of={shown} onDone={() => void reading.reload()} />}
    >
      {(authority) => (
        <div class="columns">
          <div>
            {authority.requestPem && <Request pem={authority.requestPem} />}
            <Card title="Authority" {...(authority.certificatePem && { actions: <CopyButton text={authority.certificatePem} label="Copy PEM" /> })}>
              <Details of={authority} />
            </Card>
            <Card title="Profiles" hint="What it issues; the first where none is named.">
              <Profiles of={authority.profiles} />
            </Card>
          </div>
          <History id={id} />
        </div>
      )}
    </DetailPage>
  );
}

const Request = ({ pem }: { pem: string }) => (
  <Card
    title="It waits for its certificate"
    hint="Have this request signed, then send the certificate that was made of it."
    actions={<CopyButton text={pem} label="Copy the request" />}
  >
    <pre class="line-to-paste">
      <code>{pem}</code>
    </pre>
  </Card>
);

const Details = ({ of }: { of: Authority }) => (
  <Facts
    of={[
      ["Kind", of.kind === "root" ? "Root" : "Issuing"],
      ["Subject", of.subject],
      ["Key", of.keyAlgorithm],
      ["Certificate", of.certificateId && <a href={link(`certificates/${of.certificateId}`)}>Its certificate and chain</a>],
      ...(of.parentId ? ([["Signed by", <a href={link(`authorities/${of.parentId}`)}>The authority above it</a>]] as const) : []),
      ["Valid from", of.notBefore && <UtcTime at={of.notBefore} />],
      ["Valid until", of.notAfter && <UtcTime at={of.notAfter} />],
      ["Below it", describeDepth(of.pathLength)],
      ["CRL", <code>{of.crlUrl}</code>],
      ["OCSP", <code>{of.ocspUrl}</code>],
      ["Certificate at", <code>{of.certificateUrl}</code>],
      ["Made", <UtcTime at={of.createdAt} />],
    ]}
  />
);

const describeDepth = (pathLength: number | null) =>
  pathLength === null ? "Any number of authorities" : pathLength === 0 ? "No authority" : `At most ${pathLength}`;

const Profiles = ({ of }: { of: Profile[] }) =>
  of.length === 0 ? (
    <p class="fine">None: it signs authorities alone.</p>
  ) : (
    <ul class="entries">
      {of.map(({ name, usage, defaultLifetimeSeconds, maxLifetimeSeconds, allowedDomains, allowsWildcards }) => (
        <li key={name}>
          <b>{name}</b>
          <span>{usage === "both" ? "servers and clients" : `${usage}s`}</span>
          <span class="fine">
            {allowedDomains?.join(", ") ?? "any domain"}
            {allowsWildcards && ", wildcards too"}
          </span>
          <span>{`${describeDays(defaultLifetimeSeconds)}, at most ${describeDays(maxLifetimeSeconds)}`}</span>
        </li>
      ))}
    </ul>
  );

const describeDays = (seconds: number) => (seconds < DAY ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / DAY)} days`);
