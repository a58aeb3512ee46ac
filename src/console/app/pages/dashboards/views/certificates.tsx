import { Badge, type Tone } from "../../../parts/badge";
import { Bars } from "../../../parts/charts/bars";
import { Columns } from "../../../parts/charts/columns";
import { Ring } from "../../../parts/charts/ring";
import { Time } from "../../../parts/time";
import { link } from "../../../router";
import { issuerName } from "../../certificates/list";
import type { DataWith } from "../types";
import { Nothing } from "./nothing";

export function ExpiringTimeline({ of: { expired, buckets } }: { of: DataWith<{ buckets: unknown; expired: unknown }> }) {
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      <p class="badges">
        <Badge tone={total > 0 ? "warn" : "good"} text={`${total} to expire`} />
        {expired !== null && expired > 0 && (
          <a href={link("certificates", { status: "expired" })}>
            <Badge tone="bad" text={`${expired} expired`} />
          </a>
        )}
      </p>
      <Columns
        label="Certificates by the day on which they expire"
        columns={buckets.map(({ start, count }) => ({ at: start, parts: [{ label: "expire", value: count, tone: "warn" }] }))}
      />
    </>
  );
}

const SEVERITIES: Record<string, Tone> = { critical: "bad", warning: "warn", ok: "good" };

export function TopExpiring({ of: { items } }: { of: DataWith<{ items: { severity: unknown }[] }> }) {
  if (items.length === 0) return <Nothing text="Nothing expires." />;
  return (
    <ul class="items">
      {items.map(({ certificateId, commonName, expiresAt, daysRemaining, severity }) => (
        <li key={certificateId}>
          <a class="item-text" href={link(`certificates/${certificateId}`)}>
            {commonName}
          </a>
          <span class="badges">
            <Time at={expiresAt} precision="day" />
            <Badge
              tone={SEVERITIES[severity] ?? "calm"}
              text={`${daysRemaining} ${daysRemaining === 1 ? "day" : "days"}`}
              icon={severity === "ok" ? "clock" : "warning"}
            />
          </span>
        </li>
      ))}
    </ul>
  );
}

export function CertificatesByIssuer({ of: { total, issuers, others } }: { of: DataWith<{ issuers: unknown }> }) {
  if (total === 0) return <Nothing text="There are no valid certificates." />;
  const bars = issuers.map(({ issuer, count }) => ({ label: issuerName(issuer), value: count }));
  return <Bars label="Certificates by issuer" bars={others ? [...bars, { label: "Others", value: others, tone: "calm" }] : bars} />;
}

const TONES = ["accent", "good", "calm", "warn"];

export function KeyAlgorithms({ of: { total, algorithms } }: { of: DataWith<{ algorithms: unknown }> }) {
  if (total === 0) return <Nothing text="There are no certificates." />;
  const slices = algorithms.map(({ name, size, curve, count, isWeak }, index) => ({
    label: [name, curve ?? size, isWeak ? "(weak)" : ""].filter(Boolean).join(" "),
    value: count,
    tone: isWeak ? "bad" : (TONES[index % TONES.length] ?? "accent"),
  }));
  return <Ring label="Keys" slices={slices} middle={total.toLocaleString()} />;
}
