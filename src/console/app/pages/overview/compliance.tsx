import { inOrganization } from "../../api";
import { Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { useRead } from "../../reading";
import { link } from "../../router";

type Framework = { key: string; name: string; progress: { total: number; percent: number; counts: Record<string, number> }; needsAttention: number };

export function Compliance() {
  const reading = useRead<{ items: Framework[] }>(inOrganization("ai-governance", "frameworks"));
  return (
    <Card title="Compliance">
      <Loaded from={reading}>
        {({ items }) => (
          <ul class="progress">
            {items.map(({ key, name, progress, needsAttention }) => (
              <li key={key}>
                <a href={link(`frameworks/${key}`)}>{name}</a>
                <b>{progress.percent} %</b>
                <progress aria-label={`${name}: ${progress.percent} percent done`} max={100} value={progress.percent} />
                <span class="fine">
                  {progress.counts.implemented ?? 0} of {progress.total} controls implemented
                  {needsAttention > 0 && `; ${needsAttention} need attention`}
                </span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
