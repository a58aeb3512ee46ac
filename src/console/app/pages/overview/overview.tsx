import { membership } from "../../auth/session";
import { PageHeading } from "../../parts/heading";
import { Attention } from "./attention";
import { Compliance } from "./compliance";
import { Expiries } from "./expiries";
import { FleetHealth } from "./fleet-health";
import { Renewals } from "./renewals";

export const OverviewPage = () => (
  <>
    <PageHeading title="Overview" intro={membership.value?.organizationName} />
    <div class="stack">
      <Attention />
      <Expiries />
      <div class="grid-cards">
        <Renewals />
        <FleetHealth />
        <Compliance />
      </div>
    </div>
  </>
);
