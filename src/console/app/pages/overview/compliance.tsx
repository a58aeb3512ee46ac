import { inOrganization } from "../../api";
import { Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { useRead } from "../../reading";
import { link } from "../../router";

export function Compliance() {
  const reading = useRead(inOrganization("ai-governance", "frameworks"));
  return (
    <Card title="Compliance">
      <Loaded from={reading}>
        {({ items }) => (
          <ul class="progress">
            {items.map(({ key, name, progress, needsAttention }) => (
              <li key={key}>
                <a href={link(`governance/${key}`)}>{name}</a>
                <b>{progress.percent} %</b>
                <progress aria-label={`${name}: ${progress.percent} percent done`} max={100} value={progress.percent} />
                <span class="fine">
                  {progress.counts.implemented} of {progress.total} controls implemented
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
