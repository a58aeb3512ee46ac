/** The options by which the agent connects to the server. */
type Way = {
  server: string;
  environment: Record<string, string | undefined>;
  /** True when only the authorities of --ca-file count. */
  hasOwnAuthority: boolean;
};

/** Why the server could not be reached, in a sentence that says what to do. */
export function describeFault(error: Error & { code?: string }, way: Way) {
  const { server, hasOwnAuthority } = way;
  const proxy = proxyFor(server, way.environment);
  const code = error.code ?? error.name;
  const host = new URL(server).hostname;
  if (/ISSUER|LEAF_SIGNATURE|SELF_SIGNED/.test(code)) return untrusted(hasOwnAuthority, proxy);
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return proxy ? `the name of the proxy ${proxy} is not known here. Correct HTTPS_PROXY` : `the name ${host} is not known here. Check --server and the DNS`;
  if (code === "ECONNREFUSED" || code === "FailedToOpenSocket")
    return proxy
      ? `nothing listens at the proxy ${proxy}. Correct HTTPS_PROXY, or name ${host} in NO_PROXY`
      : "nothing listens there. Is the server up, and the port right?";
  if (code === "ERR_PROXY_TUNNEL") return `the proxy ${proxy} lets nothing through (${error.message}). Correct HTTPS_PROXY, or name ${host} in NO_PROXY`;
  return (FAULTS[code] ?? error.message).replace("HOST", host).replace("NOW", new Date().toISOString());
}

const FAULTS: Record<string, string> = {
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for other names than HOST. Correct --server, or let the certificate name it",
  CERT_HAS_EXPIRED: "its certificate has expired. Renew it or, if it is not NOW, set this host's clock",
  CERT_NOT_YET_VALID: "its certificate is not valid yet. If it is not NOW, set this host's clock",
  EPROTO: "the TLS handshake failed. Either it does not speak TLS on this port, or it wants a client certificate (--client-cert, --client-key)",
  ECONNRESET: "it closed the connection. Is that the port where it speaks TLS? Does it want a client certificate (--client-cert, --client-key)?",
  ETIMEDOUT: "it did not answer in time. Does a firewall stand between?",
  TimeoutError: "it did not answer in time. Does a firewall stand between?",
  AbortError: "the agent was stopped meanwhile",
};

function untrusted(hasOwnAuthority: boolean, proxy: string | undefined) {
  const inspected = proxy ? `, or that of the proxy ${proxy} where it looks into TLS` : "";
  return hasOwnAuthority
    ? `the authority in --ca-file did not sign its certificate. Name the PEM of the one that did${inspected}`
    : `this host trusts no authority that signed its certificate. Give that authority's PEM${inspected} by --ca-file, or add it to the system's store`;
}

/** The proxy's address without its password, where one is set for the server; by the variables that the runtime heeds. */
function proxyFor(server: string, environment: Way["environment"]) {
  const { protocol, hostname, port } = new URL(server);
  const find = (name: string) => environment[name.toLowerCase()] || environment[name];
  const proxy = find(protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY");
  const exempt = (find("NO_PROXY") ?? "").split(",").map((each) => each.trim().replace(/^\*?\./, ""));
  const isExempt = exempt.some(
    (each) => each === "*" || [hostname, `${hostname}:${port}`].some((name) => name === each || (each && name.endsWith(`.${each}`))),
  );
  return proxy && !isExempt ? (URL.parse(proxy)?.host ?? proxy) : undefined;
}
