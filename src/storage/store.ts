/** The name and the kind of a download. */
export type Presentation = { fileName: string; mediaType: string };

/** The store of uploaded bytes. A key names one object for ever: nothing is overwritten. */
export type ObjectStore = {
  /** Stores all of it or nothing. */
  put: (key: string, bytes: Uint8Array) => Promise<void>;
  /** The object, read only as far as its reader goes; undefined when there is none. */
  get: (key: string) => Promise<Blob | undefined>;
  /** Removing what is not there does nothing. */
  remove: (key: string) => Promise<void>;
  /** Everything that is stored, drafts included; a draft is half-written, and is never read. */
  list: () => AsyncIterable<{ key: string; modifiedAt: Date; isDraft: boolean }>;
  /** A URL that anybody may read the object from until it expires; `base` is this server's own address. */
  signedUrl: (key: string, presentation: Presentation, expiresAt: Date, base: string) => string;
};
