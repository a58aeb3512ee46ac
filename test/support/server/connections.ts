import type { TestOrganization } from "./people";
import { startServer, world } from "./world";

/** A second server on the same database, which may speak to this machine. */
export const privateWorld = startServer({ ...world.config, allowPrivateTargets: true }, world.database);

const PATH = "/core/connections";

/** Makes a connection where private targets are allowed, and answers its id. */
export async function connect(organization: TestOrganization, kind: string, config: object, secrets: object = {}): Promise<string> {
  const body = { kind, name: crypto.randomUUID(), config, secrets };
  const answer = await organization.admin("POST", PATH, { body, url: privateWorld.url });
  if (answer.status !== 201) throw new Error(`the connection was answered ${answer.status}: ${answer.text}`);
  return answer.body.id;
}

export const tryOut = async (organization: TestOrganization, id: string, url = privateWorld.url) => organization.admin("POST", `${PATH}/${id}/test`, { url });
