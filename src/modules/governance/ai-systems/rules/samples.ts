import { readMoment, writeMoment } from "#db/moments";
import { remember } from "#runtime/remember";
import type { IngestMetrics } from "../schema";

type Sample = IngestMetrics["samples"][number];
/**
 * A batch as the database takes it: each series once, and the points as one array for each column, their moments in
 * microseconds since 1970.
 */
export type Batch = { system: string; count: number; newest: string; series: string; indexes: string; moments: string; values: string };

type Series = { identity: string; json: string; index: number };

const AHEAD = 300_000_000;

/** Returns a batch fit for the database, or the first fault with the index of its sample; a sample without a time has that of receipt. */
export function readBatch({ system, samples }: IngestMetrics, receivedAt: Date): Batch | { invalid: string } {
  const now = receivedAt.getTime() * 1_000;
  const known = new Map<string, Series>(); // by what was sent, so that a series is described once
  const points: { series: Series; at: number; value: number }[] = [];
  let newest = 0;
  for (const [index, sample] of samples.entries()) {
    const at = sample.recordedAt === undefined ? now : microsecondsOf(sample.recordedAt);
    const sent = nameSent(sample);
    const series = known.get(sent) ?? describeSeries(sample);
    const fault = findTimeFault(at, now) ?? (series ? undefined : "labels must not name a label twice");
    if (fault !== undefined || !series) return { invalid: `body.samples.${index}.${fault}.` };
    known.set(sent, series);
    points.push({ series, at, value: sample.value });
    newest = Math.max(newest, at);
  }
  return {
    system,
    count: samples.length,
    newest: writeMoment({ seconds: Math.floor(newest / 1e6), micros: newest % 1e6 }),
    series: `[${numberSeries(known).join(",")}]`,
    indexes: `{${points.map((each) => each.series.index).join(",")}}`,
    moments: `{${points.map((each) => each.at).join(",")}}`,
    values: `{${points.map((each) => each.value).join(",")}}`,
  };
}

/**
 * Numbers the series from 1, and returns the JSON of each; in one order, so that two batches with the same samples never wait
 * for each other.
 */
function numberSeries(known: Map<string, Series>) {
  const described = new Map<string, Series[]>();
  for (const series of known.values()) described.getOrInsertComputed(series.identity, () => []).push(series);
  return [...described.keys()].sort().map((identity, index) => {
    const same = described.get(identity) ?? [];
    for (const series of same) series.index = index + 1;
    return same[0]?.json;
  });
}

/** Returns a text that is the same only where metric, unit and labels are; none of its parts can hold a NUL. */
function nameSent({ metric, unit = "", labels }: Sample) {
  let text = `${metric}\0${unit}`;
  for (const name in labels) text += `\0${name}\0${labels[name]}`;
  return text;
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

/** Returns a metric with its labels and unit; nothing when a label is named twice. */
function describeSeries({ metric, unit, labels = {} }: Sample): Series | undefined {
  const described = describeLabels(JSON.stringify(labels));
  if (!described) return;
  const [name, unitName] = [metric.trim(), unit?.trim()];
  return {
    identity: `${name}\0${described.json}\0${unitName ?? ""}`,
    json: `{"metric":${JSON.stringify(name)},"unit":${JSON.stringify(unitName ?? null)},"labels":${described.json},"labels_hash":${described.hash}}`,
    index: 0,
  };
}

/** Returns labels as JSON in one order, with their hash; false when two names are the same once trimmed. */
const describeLabels = remember((sent) => {
  const entries = Object.entries<string>(JSON.parse(sent)).map(([name, value]): [string, string] => [name.trim(), value.trim()]);
  entries.sort(([one], [other]) => (one < other ? -1 : 1));
  if (entries.some(([name], index) => name === entries[index - 1]?.[0])) return false;
  const json = JSON.stringify(Object.fromEntries(entries));
  return { json, hash: hash(json) };
});

/** 64 bits of SHA-256: unlike with a faster hash, collisions cannot be made at will. */
const hash = (labels: string) => Bun.CryptoHasher.hash("sha256", labels).readBigInt64BE(0);
