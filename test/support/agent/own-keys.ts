import type { Desired } from "#agent/server-client";
import type { KeyRequest } from "#modules/issuance/requests/schema/host-keys";
import type { newAuthority } from "../pki/authority";
import type { AgentHost } from "../pki/tls-clients";
import { desired } from "./agent-host";

type Authority = Pick<Awaited<ReturnType<typeof newAuthority>>, "sign">;
type Place = Partial<KeyRequest["assignment"]> & Pick<KeyRequest["assignment"], "trustStoreType" | "config">;

/** Returns the server's request for a key, for a certificate of these names. */
export const keyRequest = ({ id = crypto.randomUUID(), materialType = "server_certificate", ...place }: Place, rest: Partial<KeyRequest> = {}): KeyRequest => ({
  requestId: crypto.randomUUID(),
  algorithm: "ecdsa-p256",
  commonName: "good.test",
  names: [
    { type: "dns", value: "good.test" },
    { type: "ip", value: "127.0.0.1" },
  ],
  hasCsr: false,
  ...rest,
  assignment: { id, materialType, ...place },
});

/** Returns the assignment that the server would send with the certificate. */
const desiredOwn = (issued: Awaited<ReturnType<Authority["sign"]>>, { assignment }: KeyRequest, rest: Partial<Desired> = {}) =>
  desired(issued, { ...assignment, keyOnHost: true, ...rest });

/** The agent makes the key and the authority the certificate: what is to be installed then. */
export async function issueFor(agent: AgentHost, authority: Authority, request: KeyRequest, rest: Partial<Desired> = {}) {
  const { csrs, faults } = await agent.answer([request]);
  const csrPem = csrs.get(request.requestId);
  if (csrPem === undefined) throw new Error(`the agent sent no signing request: ${JSON.stringify(faults)}`);
  return desiredOwn(await authority.sign(csrPem), request, rest);
}
