import { expect } from "bun:test";

/** Matches the ETag of a read at this version. */
export const readTag = (version: number) => expect.stringMatching(new RegExp(`^"${version}-[0-9a-z]+"$`)) as unknown as string;
