import { EXAMPLE_REPORT } from "#modules/fleet/assignments/schema/history";

export const EXAMPLE_ANNOTATIONS = {
  ownerId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c04",
  contacts: ["pki@certitude.example"],
  labels: { env: "prod", team: "payments" },
  notes: "Renewed by hand until the supplier takes ACME.",
};

/** A real certificate, for the document's examples. */
export const EXAMPLE_PEM = `-----BEGIN CERTIFICATE-----
MIIBvDCCAWKgAwIBAgIQUA1vDOaUQXRxuMa+OOoZYjAKBggqhkjOPQQDAjAtMRQw
EgYDVQQKDAtFeGFtcGxlIEx0ZDEVMBMGA1UEAwwMRXhhbXBsZSBSb290MCIYDzIw
MjYwMTAxMDAwMDAwWhgPMjAzNjAxMDEwMDAwMDBaMDYxFDASBgNVBAoMC0V4YW1w
bGUgTHRkMR4wHAYDVQQDDBV3d3cuY2VydGl0dWRlLmV4YW1wbGUwWTATBgcqhkjO
PQIBBggqhkjOPQMBBwNCAAS3JHGq4K+f2Jfzj0dmqKK3D+L/vsC9emar6rghteMZ
kxEvciOxsaTCPFTQ/8/wKRronorDrluEIlIfGffkNd4jo1cwVTAMBgNVHRMBAf8E
AjAAMA4GA1UdDwEB/wQEAwIHgDATBgNVHSUEDDAKBggrBgEFBQcDATAgBgNVHREE
GTAXghV3d3cuY2VydGl0dWRlLmV4YW1wbGUwCgYIKoZIzj0EAwIDSAAwRQIgB740
dABDiQMNX1KBTRxtEPhRTNt8OMGhH8Wt+ed2LA0CIQCEvMrxraCZYk1CQ8hltkIX
6w0q4BBkQwWpJ6CXwM4yIQ==
-----END CERTIFICATE-----
`;

export const EXAMPLE_SUMMARY = {
  id: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01",
  organizationId: "0193b3c0-0000-7000-8000-00000000d350",
  commonName: "www.certitude.example",
  subject: "CN=www.certitude.example,O=Example Ltd",
  issuer: "CN=Example Root,O=Example Ltd",
  serialNumber: "500d6f0ce694417471b8c6be38ea1962",
  fingerprintSha256: "58cff3b6fb4fa64d65a8806e86a7039a632a5f78a23b71b8db1e8475b3f7bcd7",
  fingerprintSha1: "f32a9cff4aa226c181b68b0e44d6867ad7d829a4",
  spkiSha256: "ab56c70598a39d4786d2a6113f797e551b2f4e8761a8e9269c4fec87ee4d4fd6",
  key: { algorithm: "EC", size: 256, curve: "P-256" },
  signatureAlgorithm: "ecdsa-with-SHA256",
  isCa: false,
  pathLength: null,
  selfSigned: false,
  keyUsage: ["digitalSignature"],
  extendedKeyUsage: ["serverAuth"],
  subjectAlternativeNames: { dns: ["www.certitude.example"], ip: [], email: [], uri: [] },
  notBefore: "2026-01-01T00:00:00.000Z",
  notAfter: "2036-01-01T00:00:00.000Z",
  status: "active",
  revokedAt: null,
  revocationReason: null,
  retiredAt: null,
  issuerCertificateId: null,
  hasPrivateKey: false,
  ...EXAMPLE_ANNOTATIONS,
  version: 1,
  createdAt: "2026-01-02T09:30:00.000Z",
  updatedAt: "2026-01-02T09:30:00.000Z",
};

export const EXAMPLE_DEPLOYMENT = {
  assignmentId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c03",
  agentId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c02",
  agentName: "web-01.certitude.example",
  applicationId: "payments-api",
  trustStoreType: "nginx_tls",
  enabled: true,
  ...EXAMPLE_REPORT,
  history: [EXAMPLE_REPORT],
};
