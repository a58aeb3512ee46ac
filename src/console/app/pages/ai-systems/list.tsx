import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { EmptyState } from "../../parts/empty";
import { PageHeading } from "../../parts/heading";
import { DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { IngestKeys } from "./keys";

export function SystemsPage() {
  const pages = usePages(inOrganization("ai-governance", "systems"));
  return (
    <>
      <PageHeading title="AI systems" intro="Those that send metrics here." />
      <div class="stack">
        <DataTable
          label="AI systems"
          from={pages}
          id={({ id }) => id}
          href={({ key }) => link(`ai-systems/${key}`)}
          columns={[
            { label: "System", cell: ({ key }) => key },
            { label: "Latest sample", cell: ({ lastSampleAt }) => <Time at={lastSampleAt} relative /> },
            { label: "First seen", cell: ({ createdAt }) => <Time at={createdAt} precision="day" /> },
          ]}
          empty={<EmptyState title="No AI system has sent metrics yet." hint="Make an ingest key below, and let your system send its samples with it." />}
        />
        {isAdmin.value && <IngestKeys />}
      </div>
    </>
  );
}
