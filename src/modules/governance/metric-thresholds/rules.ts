export type Range = { min: number | null; max: number | null };

/** Returns the fault of a range, as a sentence. */
export function findFault({ min, max }: Range) {
  if (min === null && max === null) return "body must have min, max or both: nothing is outside of a range without an end.";
  if (min !== null && max !== null && min > max) return "body.min must not be greater than max.";
}
