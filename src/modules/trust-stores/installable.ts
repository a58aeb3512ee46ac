import type { TrustStoreType } from "./catalogue";

/** The stores that our own agent installs; a test of the agent proves each of them. */
export const INSTALLABLE: ReadonlySet<TrustStoreType> = new Set();
