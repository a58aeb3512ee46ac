/** A page of a list that goes back: so many rows before a position, or the newest. */
export type PageBefore<Position = string> = { limit: number; before: Position | undefined };

/** A page of a list in its order: so many rows after a position, or the first. */
export type PageAfter<Position = string> = { limit: number; after: Position | undefined };
