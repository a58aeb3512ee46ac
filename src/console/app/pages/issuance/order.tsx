import { inOrganization } from "../../api";
import { Badge } from "../../parts/badge";
import { DetailPage } from "../../parts/detail";
import { Card, Facts } from "../../parts/facts";
import { Time, UtcTime } from "../../parts/time";
import { useLive, useRead } from "../../reading";
import { link } from "../../router";
import { OrderActions } from "./order-actions";
import { OrderStatus } from "./orders-table";
import { isOpen, ORDER_TONES, type Order, type OrderWithSteps } from "./types";

const LOCATIONS: Record<string, string> = { agent: "On a host, which it never leaves", server: "Kept here, sealed", csr: "With you, who sent the CSR" };

export function OrderPage({ id }: { id: string }) {
  const reading = useRead(inOrganization("certificate-requests", id));
  const shown = reading.data.value;
  useLive(reading, shown !== undefined && isOpen(shown));
  return (
    <DetailPage
      from={reading}
      kind="Order"
      name={({ names: [first] }) => first ?? ""}
      back={{ label: "Orders", href: link("orders") }}
      intro={(shown) => <OrderStatus of={shown} />}
      actions={(shown) => isOpen(shown) && <OrderActions of={shown} onDone={() => void reading.reload()} />}
    >
      {(order) => (
        <div class="columns">
          <Card title="Steps" {...(isOpen(order) && { hint: "Moves by itself." })}>
            <Steps of={order} />
          </Card>
          <Card title="Order">
            <Details of={order} />
          </Card>
        </div>
      )}
    </DetailPage>
  );
}

const Steps = ({ of: { steps, nextAttemptAt, reason } }: { of: OrderWithSteps }) => (
  <>
    {nextAttemptAt && (
      <p class="notice">
        {reason} It is tried again <Time at={nextAttemptAt} relative />.
      </p>
    )}
    <ol class="steps">
      {steps.map(({ status, reason: why, at }, index) => (
        <li key={index} class={ORDER_TONES[status]}>
          <Badge tone={ORDER_TONES[status]} text={status} />
          {why && <span>{why}</span>}
          <Time at={at} />
        </li>
      ))}
    </ol>
  </>
);

const Details = ({ of }: { of: Order }) => (
  <Facts
    of={[
      ["Names", of.names.join(", ")],
      ["Issuer", <a href={link(`issuers/${of.issuerId}`)}>Its issuer</a>],
      ...(of.certificateId ? ([["Certificate", <a href={link(`certificates/${of.certificateId}`)}>What was issued</a>]] as const) : []),
      ...(of.replaces ? ([["Renews", <a href={link(`certificates/${of.replaces}`)}>The certificate before</a>]] as const) : []),
      ["Key", of.key.algorithm],
      ["Private key", LOCATIONS[of.key.location] ?? of.key.location],
      ...(of.deployment?.agentId ? ([["Host", <a href={link(`agents/${of.deployment.agentId}`)}>Its agent</a>]] as const) : []),
      ["Profile", of.profile],
      ["Renewal", of.autoRenew ? of.renewAt ? <UtcTime at={of.renewAt} /> : "By itself" : "Not by itself"],
      ["Made", <UtcTime at={of.createdAt} />],
      ...(of.endedAt ? ([["Ended", <UtcTime at={of.endedAt} />]] as const) : []),
    ]}
  />
);
