import { readMoment, writeMoment } from "#db/moments";
import type { IngestMetrics } from "../schema";

type Sample = IngestMetrics["samples"][number];
/** What the database takes: each series once, and the points as one array for each column, their moments in microseconds since 1970. */
export type Batch = { system: string; count: number; newest: string; series: string; indexes: string; moments: string; values: string };

type Series = { identity: string; json: string };

const AHEAD = 300_000_000;

/** A batch fit for the database, or the first fault with the index of its sample. A sample without a time has that of receipt. */
export function readBatch({ system, samples }: IngestMetrics, receivedAt: Date): Batch | { invalid: string } {
  const now = receivedAt.getTime() * 1_000;
  const known = new Map<string, Series | undefined>(); // by what was sent, so that a series is described once
  const points: { series: Series; at: number; value: number }[] = [];
  let newest = 0;
  for (const [index, sample] of samples.entries()) {
    const { metric, unit = "", labels, value } = sample;
    const at = sample.recordedAt === undefined ? now : microsecondsOf(sample.recordedAt);
    const series = known.getOrInsertComputed(`${metric}\0${unit}\0${JSON.stringify(labels)}`, () => describeSeries(sample));
    const fault = findTimeFault(at, now) ?? (series ? undefined : "labels must not name a label twice");
    if (fault !== undefined || !series) return { invalid: `body.samples.${index}.${fault}.` };
    points.push({ series, at, value });
    newest = Math.max(newest, at);
  }
  const described = [...new Map([...known.values()].flatMap((each) => (each ? [[each.identity, each.json]] : [])))];
  // In the same order for everybody: two batches with the same samples must not wait for each other.
  described.sort(([one], [other]) => (one < other ? -1 : 1));
  const order = new Map(described.map(([identity], index) => [identity, index + 1]));
  return {
    system,
    count: samples.length,
    newest: writeMoment({ seconds: Math.floor(newest / 1e6), micros: newest % 1e6 }),
    series: `[${described.map(([, json]) => json).join(",")}]`,
    indexes: `{${points.map((each) => order.get(each.series.identity)).join(",")}}`,
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

/** A metric with its labels and unit; nothing when a label is named twice. */
function describeSeries({ metric, unit, labels }: Sample): Series | undefined {
  const canonical = canonicalLabels(labels);
  if (canonical === undefined) return;
  const [name, unitName] = [metric.trim(), unit?.trim()];
  return {
    identity: `${name}\0${canonical}\0${unitName ?? ""}`,
    json: `{"metric":${JSON.stringify(name)},"unit":${JSON.stringify(unitName ?? null)},"labels":${canonical},"labels_hash":${hash(canonical)}}`,
  };
}

/** 64 bits of SHA-256: unlike with a faster hash, collisions cannot be made at will. */
const hash = (labels: string) => new Bun.CryptoHasher("sha256").update(labels).digest().readBigInt64BE(0);
