export const BUCKETS = ["day", "week", "month"] as const;
export type Bucket = (typeof BUCKETS)[number];

export const AGGREGATIONS = ["avg", "min", "max", "p95", "last"] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/** The data of a widget, as JSON. */
export type WidgetData = { data: string };

/** For whom and when a widget's data is read; the user is there unless a gateway asks for the organization alone. */
export type Ask = { organizationId: string; userId: string | undefined; now: Date };

/** Free text as an array of Postgres, by way of JSON, which needs no quoting of ours. */
export const json = (texts: readonly string[]) => JSON.stringify(texts);
