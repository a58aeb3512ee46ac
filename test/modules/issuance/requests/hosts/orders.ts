import { DEFAULT_POLICY } from "#modules/issuance/issuing/rules/policy";
import { addRequest } from "#modules/issuance/requests/services/create";
import type { TestOrganization } from "../../../../support/server/people";
import { world } from "../../../../support/server/world";
import { acme } from "../../issuers/issuers";
import { conduct, issued, PATH } from "../requests";

type Agent = { id: string; organization: TestOrganization; assignments: string };

/** Certificates that an issuer of the agent's organization issues at once, for keys of the agent; their files lie in `directory`. */
export async function orderFor({ id: agentId, organization, assignments }: Agent, directory: string, names = ["www.certitude.example", "192.0.2.1"]) {
  const { body: issuer } = await organization.admin("POST", "/issuers", { body: acme({ name: crypto.randomUUID() }) });
  conduct(issuer.id, { take: (issuing) => issued(issuing) });
  const config = { trustStorePath: directory, certFileName: "tls.crt", keyFileName: "tls.key" };
  const deployment = { agentId, applicationId: "payments", trustStoreType: "pem_files", materialType: "server_certificate", config };
  const get = async (id: string) => (await organization.member("GET", `${PATH}/${id}`)).body;

  async function order(rest: object = {}): Promise<{ id: string; version: number }> {
    const body = { issuerId: issuer.id, names, key: { location: "agent" }, deployment, ...rest };
    const answer = await organization.admin("POST", PATH, { body });
    if (answer.status !== 202) throw new Error(`the order was answered ${answer.status}: ${answer.text}`);
    return answer.body;
  }

  /** The order of a certificate in the place of this one, as its renewal makes it. */
  async function renew(replaces: string) {
    const scope = { organizationId: organization.id, actor: { type: "server" as const }, requestId: null };
    const asked = {
      issuerId: issuer.id,
      names: [
        { type: "dns" as const, value: "www.certitude.example" },
        { type: "ip" as const, value: "192.0.2.1" },
      ],
      keyAlgorithm: "ecdsa-p256",
      keyLocation: "agent" as const,
      csr: null,
      agentId,
      deployment,
      profile: null,
      autoRenew: true,
      renewAt: null,
      replaces,
    };
    const added = await world.sql.begin((tx) => addRequest(tx, world.deps.stamps, scope, asked, DEFAULT_POLICY));
    if (!("id" in added)) throw new Error(`no renewal: ${JSON.stringify(added)}`);
    return added;
  }

  return {
    issuer,
    deployment,
    order,
    renew,
    get,
    async cancel(id: string) {
      const { status } = await organization.admin("POST", `${PATH}/${id}/cancel`);
      if (status !== 200) throw new Error(`the cancellation was answered ${status}`);
    },
    assignment: async (id: string) => (await organization.member("GET", `${assignments}/${id}`)).body,
  };
}
