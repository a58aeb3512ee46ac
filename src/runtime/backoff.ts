/** A wait after failures: so long after the first, twice as long after each more, and never longer than the longest. */
type Waits = { first: number; longest: number };

/** Returns the wait after so many failures in a row, in the unit of `first` and `longest`. */
export const backoff = ({ first, longest }: Waits, failures: number) => Math.min(first * 2 ** Math.min(Math.max(failures - 1, 0), 30), longest);
