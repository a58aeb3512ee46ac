import { afterAll, describe, expect, test } from "bun:test";
import type { Field } from "#catalogue/fields";
import { destinationFields } from "#modules/core/connectors/rules/destination";
import { CONNECTORS } from "#modules/core/connectors/rules/kinds";
import { openNeeds } from "#modules/core/connectors/rules/needs";
import { aValueOf, full } from "../../../support/openapi/fields";
import { certificate } from "../../../support/pki/certificates";
import { connect, privateWorld, tryOut } from "../../../support/server/connections";
import { newOrganization } from "../../../support/server/people";
import { startTarget } from "../../../support/server/target";
import { world } from "../../../support/server/world";

const PATH = "/core/connections";
const organization = await newOrganization();

/** Read off the catalogue by hand: what decides where each kind's secrets are sent, how, and whom it trusts. */
const EXPECTED: Record<string, string[]> = {
  acme: ["directoryUrl", "caBundlePem"],
  step_ca: ["caUrl", "rootFingerprint"],
  vault_pki: ["address", "authMethod", "authMountPath", "caBundlePem"],
  ejbca: ["baseUrl", "authMethod", "tokenUrl", "caBundlePem"],
  digicert_certcentral: ["baseUrl"],
  aws_acm: ["region"],
  aws_acm_pca: ["region"],
  azure_key_vault: ["vaultUrl", "tenantId", "authMethod"],
  google_cas: [],
  kubernetes: ["apiServerUrl", "caBundlePem", "authMethod"],
  slack: ["mode"],
  microsoft_teams: [],
  webhook: ["url"],
  smtp: ["host", "port", "security"],
  pagerduty: ["region"],
  servicenow: ["instanceUrl", "authMethod"],
  jira: ["baseUrl"],
  github: ["apiBaseUrl", "authMethod"],
  mlflow: ["trackingUri", "authMethod"],
  wandb: ["baseUrl"],
  s3: ["region", "endpoint"],
};

const OTHER: Record<string, unknown> = {
  string: "other",
  integer: 8,
  boolean: false,
  uri: "https://elsewhere.example/base",
  uuid: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c02",
  email: "bob@certitude.example",
  object: { "x-team": "other" },
};

/** A value that the field allows and that `aValueOf` does not give. */
function anotherValueOf(field: Field): unknown {
  const item = /^array<(.+)>$/.exec(field.type)?.[1];
  if (item) return [anotherValueOf({ ...field, type: item })];
  return field.name === "host" ? "elsewhere.example" : (field.enum?.[1] ?? OTHER[field.type]);
}

async function create(kind: string, config: object, secrets: object) {
  const { status, body } = await organization.admin("POST", PATH, { body: { kind, name: crypto.randomUUID(), config, secrets } });
  expect(status).toBe(201);
  const path = `${PATH}/${body.id}`;
  return { path, created: body, patch: (part: object) => organization.admin("PATCH", path, { body: part }) };
}

test("every kind of the catalogue is read", () => {
  expect(Object.fromEntries(CONNECTORS.map(({ key }) => [key, destinationFields(key)]))).toEqual(EXPECTED);
});

describe.each(CONNECTORS.map((each) => [each.key, each] as const))("PATCH of a connection of kind %s", (kind, connector) => {
  const { configFields, secretFields, needs = [] } = connector;
  const [config, secrets] = [full(configFields), full(secretFields)];
  const all = Object.keys(secrets);
  const fields = configFields.filter(({ name }) => EXPECTED[kind]?.includes(name));

  test("400 for an address, a CA or a way of authenticating that is another, without every secret, each named", async () => {
    const { path, created, patch } = await create(kind, config, secrets);
    for (const field of fields)
      for (const sent of [undefined, ...(all.length > 1 ? [{ [all[0] ?? ""]: secrets[all[0] ?? ""] }] : [])]) {
        const answer = await patch({ config: { [field.name]: anotherValueOf(field) }, ...(sent && { secrets: sent }) });
        const missing = all.filter((name) => !sent || !Object.hasOwn(sent, name)).toSorted();
        expect([answer.status, answer.body.message.split(" must be sent again")[0].split(", ").toSorted()]).toEqual([
          400,
          missing.map((name) => `body.secrets.${name}`),
        ]);
        expect(answer.body.message).toContain(`a change of body.config.${field.name} decides where secrets are sent`);
      }
    expect((await organization.admin("GET", path)).body).toEqual(created);
  });

  test("400 for taking one away, or bringing one where none was", async () => {
    for (const field of fields.filter(({ required }) => !required)) {
      const whole = await create(kind, config, secrets);
      expect((await whole.patch({ config: { [field.name]: null } })).status).toBe(
        field.default === config[field.name] && field.default !== undefined ? 200 : 400,
      );
      const { [field.name]: _, ...rest } = config;
      const without = await create(kind, rest, secrets);
      expect((await without.patch({ config: { [field.name]: anotherValueOf(field) } })).status).toBe(400);
    }
  });

  test("200 with every secret sent again, or removed where it may be", async () => {
    for (const field of fields) {
      const again = await create(kind, config, secrets);
      expect(await again.patch({ config: { [field.name]: anotherValueOf(field) }, secrets })).toMatchObject({ status: 200, body: { version: 2 } });
      const removed = await create(kind, config, secrets);
      const change = { [field.name]: anotherValueOf(field) };
      const needed = openNeeds(connector, { ...config, ...change }).map((each) => each.field);
      const kept = secretFields.filter(({ name, required }) => required || needed.includes(name)).map(({ name }) => name);
      const least = Object.fromEntries(secretFields.map((each) => [each.name, kept.includes(each.name) ? aValueOf(each) : null]));
      expect(await removed.patch({ config: change, secrets: least })).toMatchObject({ status: 200, body: { secretNames: kept } });
    }
  });

  test("200 without a secret for the same value, for any other field, and where there are no secrets", async () => {
    const { created, patch } = await create(kind, config, secrets);
    expect((await patch({ config })).body).toEqual(created);
    for (const field of configFields.filter((each) => !fields.includes(each)))
      expect((await patch({ config: { [field.name]: anotherValueOf(field) } })).status).toBe(200);
    if (secretFields.some((each) => each.required)) return;
    const { ...free } = config;
    for (const { where, is } of needs) if (is === undefined) delete free[where];
    if (openNeeds(connector, free).length > 0) return;
    const open = await create(kind, free, {});
    for (const field of fields.filter((each) => each.name !== "authMethod"))
      expect((await open.patch({ config: { [field.name]: anotherValueOf(field) } })).status).toBe(200);
  });
});

describe("a secret and the address that it was given for", () => {
  const targets = [startTarget(() => Response.json({ login: "ada" })), startTarget(() => Response.json({ login: "eve" }))] as const;
  afterAll(() => Promise.all(targets.map((each) => each.stop())));
  const [known, other] = targets;
  const patch = (id: string, body: object, headers = {}) => organization.admin("PATCH", `${PATH}/${id}`, { body, headers, url: privateWorld.url });
  const github = () => connect(organization, "github", { apiBaseUrl: known.url, owner: "x", authMethod: "token" }, { token: "s3cr3t" });

  test("400, and no test sends it elsewhere", async () => {
    const id = await github();
    expect((await patch(id, { config: { apiBaseUrl: other.url } })).status).toBe(400);
    expect((await patch(id, { config: { apiBaseUrl: other.url }, secrets: {} })).status).toBe(400);
    expect((await tryOut(organization, id)).body.outcome).toBe("ok");
    expect(known.requests.at(-1)?.headers).toMatchObject({ authorization: "Bearer s3cr3t" });
    expect(other.requests).toEqual([]);
    expect((await patch(id, { config: { apiBaseUrl: other.url }, secrets: { token: "theirs" } })).status).toBe(200);
    await tryOut(organization, id);
    expect(other.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer theirs"]);
  });

  test("400 for another CA that would vouch for the same address", async () => {
    const config = { apiServerUrl: "https://cluster.example", caBundlePem: certificate({ isCa: true }).pem, authMethod: "service_account_token" };
    const id = await connect(organization, "kubernetes", config, { bearerToken: "s3cr3t" });
    const answer = await patch(id, { config: { caBundlePem: certificate({ isCa: true }).pem } });
    expect(answer).toMatchObject({
      status: 400,
      body: {
        message:
          "body.secrets.bearerToken must be sent again (or null, to remove it): a change of body.config.caBundlePem decides where secrets are sent and whom the connection trusts.",
      },
    });
  });

  test("400 also while no key opens the stored secret, which might come back", async () => {
    const id = await github();
    await world.sql`update connections set sealed_secrets = decode(repeat('00', 60), 'hex') where organization_id = ${organization.id} and id = ${id}`;
    expect((await patch(id, { config: { apiBaseUrl: other.url } })).status).toBe(400);
  });

  test("412 before 400 where the If-Match is stale", async () => {
    expect((await patch(await github(), { config: { apiBaseUrl: other.url } }, { "if-match": '"7"' })).status).toBe(412);
  });
});
