import { anAssignment, importRoot, newAgent } from "../../../support/server/agents";
import { newOrganization } from "../../../support/server/people";

/** An agent with three assignments of one root, and where one sees what it reports. */
export async function newReporter() {
  const organization = await newOrganization();
  const agent = await newAgent(organization);
  const certificateId = await importRoot(organization);
  const ids: string[] = [];
  for (const alias of ["a", "b", "c"])
    ids.push((await organization.admin("POST", agent.assignments, { body: anAssignment(certificateId, { config: { alias } }) })).body.id);
  const user = await organization.join();
  const [first = ""] = ids;
  const path = `${agent.assignments}/${first}`;
  const report = (body: object) => agent.call("POST", "/agent/reports", { body });
  /** Of the first assignment. */
  const say = (state: string, rest: object = {}) => report({ reports: [{ assignmentId: first, state, ...rest }] });
  const read = async () => (await organization.member("GET", path)).body;
  const list = (query = "") => organization.member("GET", `${path}/reports${query}`);
  const deployments = async () => (await user.call("GET", `/portal/organizations/${organization.id}/certificates/${certificateId}`)).body.deployments;
  const events = async () => {
    const { items } = (await organization.admin("GET", "/audit-events?limit=100")).body;
    return items.filter((each: { action: string }) => each.action === "assignment.reported");
  };
  return { organization, agent, certificateId, ids, path, report, say, read, list, deployments, events };
}
