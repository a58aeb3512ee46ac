import { t } from "elysia";
import { Text } from "#http/schema";
import { MAX_VALUE } from "./labels";

export const EXAMPLE_LABELS = { env: "prod", zone: "zurich-1" };

// Elysia trims the values only where it finds a transform, and it does not look into records.
export const Labels = t
  .Transform(t.Record(t.String(), Text({ max: MAX_VALUE }), { description: "At most 64 keys and values that selectors look for", examples: [EXAMPLE_LABELS] }))
  .Decode((labels) => labels)
  .Encode((labels) => labels);
