import type { Metric } from "prom-client";

const NAME = "certitude_http_request_duration_seconds";
const HELP = "Duration of HTTP requests by route pattern and status.";
/** Upper bounds of the buckets, in seconds. */
const BOUNDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3];

/** `counts` has a number for each bound, and one for what took longer. */
type Series = { labels: { method: string; route: string; status: number }; counts: number[]; sum: number };

/** A histogram of requests. prom-client's own checks and hashes the labels of each observation, which costs more than the rest of it. */
export function createRequestDurations() {
  const all: Series[] = [];
  const byRoute = new Map<string, Map<string, Map<number, Series>>>();

  function observe(method: string, route: string, status: number, seconds: number) {
    const byStatus = byRoute.getOrInsertComputed(route, () => new Map()).getOrInsertComputed(method, () => new Map());
    const series = byStatus.get(status) ?? add(byStatus, { method, route, status });
    const bucket = BOUNDS.findIndex((bound) => seconds <= bound);
    const index = bucket < 0 ? BOUNDS.length : bucket;
    series.counts[index] = (series.counts[index] ?? 0) + 1;
    series.sum += seconds;
  }

  function add(byStatus: Map<number, Series>, labels: Series["labels"]) {
    const series = { labels, counts: Array.from({ length: BOUNDS.length + 1 }, () => 0), sum: 0 };
    byStatus.set(labels.status, series);
    all.push(series);
    return series;
  }

  const get = async () => ({ name: NAME, help: HELP, type: "histogram", aggregator: "sum", values: all.flatMap(toValues) });
  return { observe, metric: { name: NAME, get } as unknown as Metric };
}

/** The counts of Prometheus add up: each bucket holds those of the buckets below. */
function toValues({ labels, counts, sum }: Series) {
  let count = 0;
  const buckets = counts.map((each, index) => {
    count += each;
    return { metricName: `${NAME}_bucket`, labels: { le: BOUNDS[index] ?? "+Inf", ...labels }, value: count };
  });
  return [...buckets, { metricName: `${NAME}_sum`, labels, value: sum }, { metricName: `${NAME}_count`, labels, value: count }];
}
