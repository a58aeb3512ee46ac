/** The functions that run after the last test of a run, whichever file began them. */
export const endings: (() => unknown)[] = [];
