import { inOrganization } from "../../api";
import { DetailPage } from "../../parts/detail";
import { Card, Facts } from "../../parts/facts";
import { UtcTime } from "../../parts/time";
import { useLive, useRead } from "../../reading";
import { link } from "../../router";
import { History } from "../certificates/history";
import { ConfigCard } from "./config-card";
import { PolicyActions } from "./policy-actions";
import { Conflicts } from "./policy-preview";
import { nameOfPolicy, PolicyState, Selector } from "./policy-state";
import type { Policy, PolicyWithReach } from "./types";

const HELD = "It is held: it was changed in the database, and not by this server, so it gives and takes nothing.";

export function PolicyPage({ id }: { id: string }) {
  const reading = useRead(inOrganization("assignment-policies", id));
  const shown = reading.data.value;
  useLive(reading, shown !== undefined && ["applying", "rolling_out", "rolling_back"].includes(shown.state));
  return (
    <DetailPage
      from={reading}
      kind="Policy"
      name={nameOfPolicy}
      back={{ label: "Policies", href: link("policies") }}
      intro={(shown) => <PolicyState of={shown} />}
      actions={(shown) => <PolicyActions of={shown} onDone={() => void reading.reload()} />}
    >
      {(policy) => (
        <div class="columns">
          <div>
            {policy.heldSince && <p class="fault">{HELD}</p>}
            <Card title="Effect" hint={policy.agents === 1 ? "1 agent has its assignment." : `${policy.agents.toLocaleString()} agents have its assignment.`}>
              <Effect of={policy} />
            </Card>
            <History id={id} />
          </div>
          <div>
            <Card title="Policy">
              <Details of={policy} />
            </Card>
            <ConfigCard of={policy.config} />
          </div>
        </div>
      )}
    </DetailPage>
  );
}

const Effect = ({ of: { selector, certificateId, rolloutId, conflicts } }: { of: PolicyWithReach }) => (
  <>
    <p class="links">
      <a href={link("agents", selector === null ? {} : { selector })}>Agents with these labels</a>
      <a href={link("deployments", { certificateId })}>Deployments of its certificate</a>
      {rolloutId && <a href={link(`rollouts/${rolloutId}`)}>The rollout that brings it, ring by ring</a>}
    </p>
    <Conflicts of={conflicts} />
  </>
);

const Details = ({ of }: { of: Policy }) => (
  <Facts
    of={[
      ["Agents", <Selector of={of.selector} />],
      ["Certificate", <a href={link(`certificates/${of.certificateId}`)}>Its certificate</a>],
      ["Store", <code>{of.trustStoreType}</code>],
      ["Used as", of.materialType.replaceAll("_", " ")],
      ["Application", of.applicationId],
      ["Private key", of.includePrivateKey ? "Sent to the hosts" : "Not sent"],
      ["Successors", of.autoRenew ? "Followed" : "Not followed"],
      ["Made", <UtcTime at={of.createdAt} />],
      ["Changed", <UtcTime at={of.updatedAt} />],
    ]}
  />
);
