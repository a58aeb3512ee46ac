import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { prepare } from "../../../support/server/prepare";
import { scansOf, statementsDuring } from "../../../support/server/statements";
import { newReporter } from "../agent-protocol/reporters";

setDefaultTimeout(300_000);

const OTHERS = 3_000;
let reporter: Awaited<ReturnType<typeof newReporter>>;

/** An agent among many, each with an assignment of the same certificate and ten reports. */
beforeAll(async () => {
  reporter = await newReporter();
  const { organization, certificateId, say } = reporter;
  await prepare(async (tx) => {
    await tx`
    with agent as (
      insert into agents (organization_id, id, name, token_hash)
      select ${organization.id}, new_id(), 'host', sha256((${organization.id} || i)::bytea) from generate_series(1, ${OTHERS}::int) i returning id),
    assignment as (
      insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key,
        config, target, auto_renew, enabled)
      select ${organization.id}, new_id(), id, ${certificateId}, 'shop', 'linux_update_ca_certificates', 'trust_anchor', false, '{}', '', true, true
      from agent returning id, agent_id)
    insert into deployment_reports (organization_id, agent_id, assignment_id, id, state, reported_at)
    select ${organization.id}, agent_id, id, new_id(), 'installed', now() from assignment, generate_series(1, 10)`;
    await tx`
    insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, not_before, not_after,
      is_ca, self_signed, facts, pem, search)
    select organization_id, new_id(), common_name, fingerprint_sha256 || i, subject, issuer, subject_hash, issuer_hash, not_before, not_after,
      is_ca, self_signed, facts, pem, search from certificates, generate_series(1, ${OTHERS}::int) i
    where organization_id = ${organization.id} and id = ${certificateId}`;
    await tx`
    insert into host_challenges (organization_id, id, request_id, name, token, thumbprint)
    select ${organization.id}, new_id(), new_id(), 'www.example.org', i, '' from generate_series(1, ${OTHERS}::int) i`;
  });
  for (const state of ["installed", "failed"]) await say(state);
  await prepare((sql) => sql.unsafe("analyze agents, assignments, certificates, deployment_reports, host_challenges"));
});

const readDetails = () => reporter.deployments();
const poll = () => reporter.agent.call("GET", "/agent/assignments");

describe.each([
  ["GET /agent/assignments", poll, ["agents", "assignments", "certificates"]],
  ["POST /agent/reports", () => reporter.say("drifted"), ["agents", "assignments"]],
  ["GET …/assignments/{assignmentId}", () => reporter.read(), ["assignments", "deployment_reports"]],
  ["GET …/assignments/{assignmentId}/reports", () => reporter.list(), ["assignments", "deployment_reports"]],
] as const)("%s", (_, request, tables) => {
  test("finds what it needs among many by indexes alone", async () => {
    const statements = await statementsDuring(request);
    const scans = (await Promise.all(statements.map(scansOf))).flat();
    expect(scans.filter((each) => /^Seq Scan on (agents|assignments|certificates|deployment_reports|host_challenges)\b/.test(each))).toEqual([]);
    for (const table of tables) expect(scans.join("\n")).toMatch(new RegExp(`^Index( Only)? Scan.* on ${table}\\b`, "m"));
  });
});

describe("GET /portal/organizations/{organizationId}/certificates/{certificateId}", () => {
  test("finds the history of each of many deployments by its index", async () => {
    const [reading, counting, ...others] = await Promise.all((await statementsDuring(readDetails)).map(scansOf));
    expect(reading?.filter((each) => / on deployment_reports\b/.test(each))).toEqual([expect.stringMatching(/^Index/)]);
    expect(counting).toEqual([expect.stringMatching(/ on assignments$/)]); // there are more than are shown
    expect(others).toEqual([]);
  });
});
