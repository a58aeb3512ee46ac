/** What is ended after the last test of a run, whichever file began it. */
export const endings: (() => unknown)[] = [];
