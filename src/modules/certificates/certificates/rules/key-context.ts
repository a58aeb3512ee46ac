/** Returns the context that a sealed private key is bound to: it opens in no other organization and for no other certificate. */
export const keyContext = (organizationId: string, fingerprint: string) => `certificate-key ${organizationId} ${fingerprint}`;
