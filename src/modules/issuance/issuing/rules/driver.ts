import type { HostProofType } from "./host-proofs";

/** A name that a certificate is for: DNS in A-labels and lower case, or an address in its canonical form. */
export type Name = { type: "dns" | "ip"; value: string };

/** The certificate that a driver is to have issued. */
export type Issuing = {
  organizationId: string;
  requestId: string;
  issuerId: string;
  names: Name[];
  profile: string | null;
  /** PKCS #10 in DER, of exactly these names. */
  csr: Uint8Array;
  /** PEM of the certificate that it renews. */
  replaces: string | null;
  /** How the agent of the request proves control of the names; null where that is up to the issuer alone. */
  hostProof: HostProofType | null;
  /** The issuer's terms when the order was approved (`terms.ts`); null where no approval names them. */
  approvedTerms: string | null;
  /** The outcome of the last step; undefined before the first. */
  progress: unknown;
};

/**
 * The outcome of one step. A step with an effect outside first returns `progress` that says what it intends, for a server that takes over.
 */
export type Step =
  /** Kept before the next call. */
  | { to: "validating" | "issuing"; progress: object; reason?: string; againAt: Date }
  /**
   * PEM, the leaf first, to be judged before it is stored. `provenByDns`: names of which the issuer saw proofs over DNS; none
   * where it asks for no proofs.
   */
  | { to: "issued"; chainPem: string; provenByDns?: string[] }
  /** For good. `reason` is a sentence for a person. */
  | { to: "failed"; reason: string }
  /**
   * A fault that may pass: tried again with backoff, not before `at`. With `ofIssuer` nothing else asks this issuer before `at` either (a
   * rate limit, a CA that is away).
   */
  | { to: "retry"; at: Date; reason: string; progress?: object; ofIssuer?: boolean };

/** A fault that was explained: final, or worth another try. */
export type Faulted = Extract<Step, { to: "failed" | "retry" }>;
export type Revoked = { to: "revoked" } | Faulted;

/** An issuer with its secrets opened. `account` is the driver's own, kept in the issuer's row. */
export type OpenIssuer = {
  organizationId: string;
  id: string;
  kind: string;
  name: string;
  config: Record<string, unknown>;
  secrets: Record<string, string>;
  account: unknown;
};

/** Of a certificate (RFC 9773). */
export type RenewalWindow = { start: Date; end: Date; explanationUrl: string | undefined; askAgainAt: Date };

/** A driver has certificates issued by one kind of issuer. Any server may take the next step; a step that throws is tried again later. */
export type Driver = {
  /** Tests whether the issuer would issue, without having it issue. */
  test(issuer: OpenIssuer, signal: AbortSignal): Promise<{ outcome: "ok" | "failed"; message: string }>;
  /** One step. A server that was killed in it leaves it to another, which calls it again with the progress that was kept last. */
  take(issuer: OpenIssuer, issuing: Issuing, signal: AbortSignal): Promise<Step>;
  /**
   * Takes away what proofs left behind (DNS records, tokens), once issued, failed or cancelled. Called again where a server was killed in
   * it.
   */
  end(issuer: OpenIssuer, issuing: Issuing, signal: AbortSignal): Promise<void>;
  /** When the CA wants a certificate to be renewed, and when it wants to be asked again; undefined where it does not say. */
  findRenewalWindow?(issuer: OpenIssuer, pem: string, signal: AbortSignal): Promise<RenewalWindow | undefined>;
  /**
   * Has the CA revoke a certificate that it issued to this issuer, for a reason of RFC 5280 in words. One that is revoked already is as
   * good.
   */
  revoke?(issuer: OpenIssuer, revoked: { pem: string; reason: string }, signal: AbortSignal): Promise<Revoked>;
};
