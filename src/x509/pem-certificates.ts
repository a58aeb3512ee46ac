const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns the certificates of a PEM file that its owner keeps, each as it stands there; they are not read. */
export const certificateBlocks = (text: string): string[] => text.match(CERTIFICATE) ?? [];
