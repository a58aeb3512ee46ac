/** An error like those of the platform, which differ by their code. */
export const failure = (code: "PRIVATE_TARGET" | "TOO_LARGE" | "CERT_UNTRUSTED" | "HPE_UPGRADE" | "ECONNRESET") => Object.assign(new Error(code), { code });

const REASONS: [RegExp, string][] = [
  [/^PRIVATE_TARGET$/, "Its host name leads to a private, local or reserved address."],
  [/^TOO_LARGE$/, "It answered with more than 64 KiB."],
  [/^(ENOTFOUND|EAI_|ENODATA|DNS_)/, "Its host name cannot be resolved."],
  [/^ECONNREFUSED|^ConnectionRefused/, "It refused the connection."],
  [/^ECONNRESET|^EPIPE|^ConnectionClosed/, "It closed the connection without an answer."],
  [/^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/, "It cannot be reached."],
  [/^ERR_TLS_CERT_ALTNAME/, "Its TLS certificate is for another host."],
  [/CERT|^UNABLE_TO_|SELF_SIGNED/, "Its TLS certificate is not trusted."],
  [/^(ERR_SSL|ERR_TLS|ERR_OSSL|EPROTO)/, "TLS with it failed: it speaks none, or refused the client certificate."],
  [/^ERR_(INVALID_CHAR|INVALID_HTTP|HTTP_INVALID)/, "A config field or secret has a character that an HTTP header cannot carry."],
  [/^HPE_/, "It does not speak HTTP."],
];

export const codeOf = (error: unknown) => `${(error as { code?: unknown }).code ?? ""}`;

/** Why a request failed, in words that hold neither secrets nor what was answered. */
export function describeFailure(error: unknown) {
  const code = codeOf(error);
  return REASONS.find(([pattern]) => pattern.test(code))?.[1] ?? "The connection to it failed.";
}
