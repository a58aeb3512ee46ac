import { inOrganization } from "../../api";
import { Badge } from "../../parts/badge";
import { Ring } from "../../parts/charts/ring";
import { Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { PageHeading } from "../../parts/heading";
import { useRead } from "../../reading";
import { link } from "../../router";
import type { Framework } from "./types";

export function FrameworksPage() {
  const reading = useRead(inOrganization("ai-governance", "frameworks"));
  return (
    <>
      <PageHeading title="Governance" intro="How far this organization is with each framework for AI, control by control." />
      <Loaded from={reading}>
        {({ items }) => (
          <div class="grid-cards">
            {items.map((framework) => (
              <FrameworkCard key={framework.key} of={framework} />
            ))}
          </div>
        )}
      </Loaded>
    </>
  );
}

function FrameworkCard({ of: { key, name, version, publisher, sourceUrl, progress, needsAttention } }: { of: Framework }) {
  const { not_started, in_progress, implemented, not_applicable } = progress.counts;
  return (
    <Card
      title={name}
      actions={
        needsAttention > 0 && (
          <a href={link(`governance/${key}`, { attention: "yes" })}>
            <Badge tone="warn" text={`${needsAttention} to look at`} />
          </a>
        )
      }
    >
      <p class="fine framework-version">
        {version}.{" "}
        <a href={sourceUrl} rel="noreferrer" target="_blank">
          {publisher}
        </a>
      </p>
      <Ring
        label={`${name}, ${progress.percent} percent of the applicable controls implemented`}
        middle={`${progress.percent}%`}
        slices={[
          { label: "Implemented", value: implemented, tone: "good" },
          { label: "In progress", value: in_progress, tone: "accent" },
          { label: "Not started", value: not_started, tone: "calm" },
          { label: "Not applicable", value: not_applicable, tone: "faint" },
        ]}
      />
      <p class="card-end">
        <a class="button" href={link(`governance/${key}`)}>
          {progress.total} controls
        </a>
      </p>
    </Card>
  );
}
