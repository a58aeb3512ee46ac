import { readMoment, writeMoment } from "#db/moments";
import type { IngestMetrics } from "../schema";

type Sample = IngestMetrics["samples"][number];
/** What the database takes: each series once, and the points as one array for each column, their moments in microseconds since 1970. */
export type Batch = { system: string; count: number; newest: string; series: string; indexes: string; moments: string; values: string };

const AHEAD = 300_000_000;

/** A batch fit for the database, or the first fault with the index of its sample. A sample without a time has that of receipt. */
export function readBatch({ system, samples }: IngestMetrics, receivedAt: Date): Batch | { fault: string } {
  const now = receivedAt.getTime() * 1_000;
  const series = new Map<string, string>();
  const points: { series: string; at: number; value: number }[] = [];
  for (const [index, sample] of samples.entries()) {
    const at = sample.recordedAt === undefined ? now : microsecondsOf(sample.recordedAt);
    const labels = canonicalLabels(sample.labels);
    const fault = findTimeFault(at, now) ?? (labels === undefined ? "labels must not name a label twice" : undefined);
    if (fault !== undefined || labels === undefined) return { fault: `body.samples.${index}.${fault}.` };
    const identity = seriesOf(sample, labels);
    if (!series.has(identity)) series.set(identity, describeSeries(sample, labels));
    points.push({ series: identity, at, value: sample.value });
  }
  // In the same order for everybody: two batches with the same samples must not wait for each other.
  const order = new Map([...series.keys()].sort().map((each, index) => [each, index + 1]));
  const newest = points.reduce((latest, { at }) => Math.max(latest, at), 0);
  return {
    system,
    count: samples.length,
    newest: writeMoment({ seconds: Math.floor(newest / 1e6), micros: newest % 1e6 }),
    series: `[${[...order.keys()].map((each) => series.get(each)).join(",")}]`,
    indexes: `{${points.map((each) => order.get(each.series)).join(",")}}`,
    moments: `{${points.map((each) => each.at).join(",")}}`,
    values: `{${points.map((each) => each.value).join(",")}}`,
  };
}

/** Since 1970; exact until the year 2255, and what is later is refused. */
function microsecondsOf(recordedAt: string) {
  const { seconds, micros } = readMoment(recordedAt);
  return seconds * 1e6 + micros;
}

function findTimeFault(at: number, now: number) {
  if (at < 0) return "recordedAt must not be before 1970";
  return at > now + AHEAD ? "recordedAt must not be more than five minutes ahead" : undefined;
}

/** Labels as text in one order; nothing when two names are the same once trimmed. */
function canonicalLabels(labels: Sample["labels"] = {}) {
  const entries = Object.entries(labels).map(([name, value]): [string, string] => [name.trim(), value.trim()]);
  entries.sort(([one], [other]) => (one < other ? -1 : 1));
  if (entries.some(([name], index) => name === entries[index - 1]?.[0])) return;
  return JSON.stringify(Object.fromEntries(entries));
}

const seriesOf = ({ metric, unit = "" }: Sample, labels: string) => `${metric.trim()}\0${labels}\0${unit.trim()}`;

const describeSeries = ({ metric, unit }: Sample, labels: string) =>
  `{"metric":${JSON.stringify(metric.trim())},"unit":${JSON.stringify(unit?.trim() ?? null)},"labels":${labels},"labels_hash":${hash(labels)}}`;

/** 64 bits of SHA-256, which nobody can make collide at will as with a faster hash. */
const hash = (labels: string) => new Bun.CryptoHasher("sha256").update(labels).digest().readBigInt64BE(0);
