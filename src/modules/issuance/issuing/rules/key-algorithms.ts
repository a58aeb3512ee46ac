export const KEY_ALGORITHMS = ["ecdsa-p256", "ecdsa-p384", "rsa-2048", "rsa-3072", "rsa-4096"] as const;
/** Those of a CSR too. */
export const ALL_KEY_ALGORITHMS = [...KEY_ALGORITHMS, "ecdsa-p521", "ed25519"] as const;
