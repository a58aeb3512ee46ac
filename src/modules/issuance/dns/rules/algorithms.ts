/** Algorithms of RFC 8945 that are neither truncated nor weak, and the hash of each. */
export const ALGORITHMS = { "hmac-sha256": "sha256", "hmac-sha384": "sha384", "hmac-sha512": "sha512" } as const;
