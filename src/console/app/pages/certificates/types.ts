export type Certificate = {
  id: string;
  commonName: string;
  subject: string;
  issuer: string;
  serialNumber: string;
  fingerprintSha256: string;
  key: { algorithm: string; size: number | null; curve: string | null };
  signatureAlgorithm: string;
  isCa: boolean;
  selfSigned: boolean;
  keyUsage: string[];
  extendedKeyUsage: string[];
  subjectAlternativeNames: { dns: string[]; ip: string[]; email: string[]; uri: string[] };
  notBefore: string;
  notAfter: string;
  status: "active" | "expired" | "revoked" | "retired";
  revokedAt: string | null;
  revocationReason: string | null;
  retiredAt: string | null;
  issuerCertificateId: string | null;
  hasPrivateKey: boolean;
  ownerId: string | null;
  contacts: string[];
  labels: Record<string, string>;
  notes: string | null;
  version: number;
  createdAt: string;
  updatedAt: string;
};

/** What the dialogs of an action are given. */
export type Shared = { of: Certificate; close: () => void; finish: (said: string) => void };
