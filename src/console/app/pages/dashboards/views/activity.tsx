import { Badge, type Tone } from "../../../parts/badge";
import { Time } from "../../../parts/time";
import { link } from "../../../router";
import type { DataWith } from "../types";
import { Nothing } from "./nothing";

export function NotificationFeed({ of: { items } }: { of: DataWith<{ items: { readAt: unknown }[] }> }) {
  if (items.length === 0) return <Nothing text="There is nothing new." />;
  return (
    <ul class="items">
      {items.map(({ id, title, createdAt, readAt }) => (
        <li key={id}>
          <span class="item-text">
            {readAt === null ? <b>{title}</b> : title}
            <span class="fine">
              <Time at={createdAt} relative />
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}

const TONES: Record<string, Tone> = { ok: "good", failed: "bad", unsupported: "calm", untested: "calm" };

export function ConnectorHealth({ of: { items } }: { of: DataWith<{ items: { connectorKey: unknown }[] }> }) {
  if (items.length === 0) return <Nothing text="Nothing is connected." />;
  return (
    <ul class="items">
      {items.map(({ id, name, status, lastVerifiedAt, lastError }) => (
        <li key={id}>
          <span class="item-text" title={lastError ?? ""}>
            <a href={link(`connections/${id}`)}>{name}</a>
          </span>
          <span class="badges">
            {lastVerifiedAt !== null && <Time at={lastVerifiedAt} relative />}
            <Badge tone={TONES[status] ?? "calm"} text={status} />
          </span>
        </li>
      ))}
    </ul>
  );
}
