import { describe, expect, test } from "bun:test";
import { createApp } from "#app";
import { createDeps } from "#deps";
import { listen } from "#http/listen";
import { createLog } from "#log/log";
import { secretsContext } from "#modules/core/connectors/services/secrets";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const PATH = "/core/connections";
const github = (rest = {}) => ({
  kind: "github",
  name: "Our GitHub",
  config: { owner: "example", authMethod: "token" },
  secrets: { token: "s3cr3t" },
  ...rest,
});

describe("POST /organizations/{organizationId}/core/connections", () => {
  test("403 for an ORG_MEMBER, whatever the body", async () => {
    const organization = await newOrganization();
    expect((await organization.member("POST", PATH, { body: { nonsense: true } })).status).toBe(403);
  });

  test.each([
    [[], "The body must be an object."],
    [{}, "body.kind is required."],
    [github({ kind: "gitlab" }), /^body\.kind must be one of acme, step_ca, .*s3\.$/],
    [github({ kind: 5 }), /^body\.kind must be one of /],
    [github({ name: undefined }), "body.name is required."],
    [github({ name: " " }), "body.name must be text of 1 to 200 characters, without NUL."],
    [github({ name: "a\0b" }), "body.name must be text of 1 to 200 characters, without NUL."],
    [github({ config: [] }), "body.config must be an object."],
    [github({ config: "x" }), "body.config must be an object."],
    [github({ secrets: null }), "body.secrets must be an object."],
    [github({ colour: "red" }), "body.colour is not a known field."],
    [github({ config: undefined }), "body.config.owner is required for github."],
    [github({ config: { owner: "x", authMethod: "token", secret: 1 } }), "body.config.secret is not a known field of github."],
    [github({ config: { owner: "x", authMethod: "token", constructor: 1 } }), "body.config.constructor is not a known field of github."],
    [github({ config: { owner: "x", authMethod: "password" } }), "body.config.authMethod must be one of token, app."],
    [github({ secrets: { password: "x" } }), "body.secrets.password is not a known field of github."],
    [{ kind: "acme", name: "x" }, "body.config.directoryUrl is required for acme."],
    [{ kind: "wandb", name: "x", config: { entity: "a", project: "b" } }, "body.secrets.apiKey is required for wandb."],
    [{ kind: "smtp", name: "x", config: { host: "mail.example/x", fromAddress: "a@b.example" } }, "body.config.host must be a host name or an IP address."],
    [{ kind: "smtp", name: "x", config: { host: "mail.example", fromAddress: "nobody" } }, "body.config.fromAddress must be an e-mail address."],
    [
      { kind: "smtp", name: "x", config: { host: "mail.example", port: 70_000, fromAddress: "a@b.example" } },
      "body.config.port must be a whole number from 1 to 65535.",
    ],
  ])("400 for %j", async (body, message) => {
    const organization = await newOrganization();
    const answer = await organization.admin("POST", PATH, { body });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
    expect((await organization.member("GET", PATH)).body.items).toEqual([]);
  });

  test("400 for a name of 201 characters and a secret of 16,001", async () => {
    const organization = await newOrganization();
    expect((await organization.admin("POST", PATH, { body: github({ name: "x".repeat(201) }) })).status).toBe(400);
    expect(await organization.admin("POST", PATH, { body: github({ secrets: { token: "x".repeat(16_001) } }) })).toMatchObject({
      status: 400,
      body: { message: "body.secrets.token must be text of 1 to 16000 characters, without NUL." },
    });
  });

  test("400 for a __proto__ of its own", async () => {
    const organization = await newOrganization();
    const raw = '{"kind":"github","name":"x","config":{"owner":"x","authMethod":"token","__proto__":{"a":1}}}';
    const answer = await organization.admin("POST", PATH, { raw, headers: { "content-type": "application/json" } });
    expect(answer).toMatchObject({ status: 400, body: { message: "body.config.__proto__ is not a known field of github." } });
  });

  test("400 for a name that another connection of the organization has; another organization's is no matter", async () => {
    const [mine, other] = [await newOrganization(), await newOrganization()];
    expect((await mine.admin("POST", PATH, { body: github() })).status).toBe(201);
    expect(await mine.admin("POST", PATH, { body: github({ name: "  Our GitHub " }) })).toMatchObject({
      status: 400,
      body: { message: 'body.name is taken: another connection is named "Our GitHub".' },
    });
    expect((await other.admin("POST", PATH, { body: github() })).status).toBe(201);
  });

  test("400 for a name that differs in case or Unicode form alone, also of two requests at once; the sentence has the name that is there", async () => {
    const organization = await newOrganization();
    const create = (name: string) => organization.admin("POST", PATH, { body: github({ name }) });
    const answers = await Promise.all(["Café Straße", "CAFE\u0301 STRASSE", "ｃａｆé straẞe"].map(create));
    const [made] = (await organization.member("GET", PATH)).body.items;
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 400, 400]);
    const refused = answers.filter(({ status }) => status === 400).map(({ body }) => body.message);
    expect(refused).toEqual(Array(2).fill(`body.name is taken: another connection is named "${made.name}".`));
    expect((await create("Cafe Strasse")).status).toBe(201);
  });

  test("201 for the longest names, whatever they are without their form", async () => {
    const organization = await newOrganization();
    const names = [
      "\ufdfa".repeat(200),
      "\u{1d160}".repeat(200),
      Array.from({ length: 200 }, (_, index) => String.fromCodePoint(0x3300 + ((index * 37) % 88))).join(""),
    ];
    for (const name of names) expect((await organization.admin("POST", PATH, { body: github({ name }) })).body).toMatchObject({ name });
  });

  test("201 with defaults in place, the secrets' names alone, an ETag and where it is", async () => {
    const organization = await newOrganization();
    const answer = await organization.admin("POST", PATH, { body: github() });
    expect(answer).toMatchObject({
      status: 201,
      body: {
        organizationId: organization.id,
        kind: "github",
        name: "Our GitHub",
        config: { owner: "example", authMethod: "token", apiBaseUrl: "https://api.github.com" },
        secretNames: ["token"],
        lastTest: null,
        version: 1,
      },
    });
    expect(answer.headers.get("etag")).toBe('"1"');
    expect(answer.headers.get("location")).toBe(`/organizations/${organization.id}${PATH}/${answer.body.id}`);
    expect((await organization.member("GET", `${PATH}/${answer.body.id}`)).body).toEqual(answer.body);
  });

  test("201 seals the secrets: they open for this connection alone", async () => {
    const organization = await newOrganization();
    const { body } = await organization.admin("POST", PATH, { body: github() });
    const [row] = await world.sql`select sealed_secrets as sealed from connections where organization_id = ${organization.id} and id = ${body.id}`;
    const own = { organizationId: organization.id, id: body.id };
    const open = (place: typeof own) => world.config.keyring.unseal(row?.sealed, secretsContext(place));
    expect(Buffer.from(row?.sealed).toString("latin1")).not.toContain("s3cr3t");
    expect(JSON.parse(open(own))).toEqual({ token: "s3cr3t" });
    expect(() => open({ ...own, id: crypto.randomUUID() })).toThrow();
    expect(() => open({ ...own, organizationId: crypto.randomUUID() })).toThrow();
  });

  test("201 leaves no secret in answers, lists, the audit trail or the log", async () => {
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    const deps = createDeps({ config: world.config, db: world.database.db, log: createLog("trace", stream) });
    const server = listen(createApp(deps), deps);
    const url = server.url.href.replace(/\/$/, "");
    const organization = await newOrganization();
    const created = await organization.admin("POST", PATH, { body: github(), url });
    const path = `${PATH}/${created.body.id}`;
    const answers = [
      created,
      await organization.admin("POST", PATH, { body: github(), url }),
      await organization.admin("PATCH", path, { body: { secrets: { token: "s3cr3t-2", webhookSecret: { s3cr3t: 1 } } }, url }),
      await organization.admin("PATCH", path, { body: { secrets: { token: "s3cr3t-3" } }, url }),
      await organization.admin("GET", path, { url }),
      await organization.admin("GET", PATH, { url }),
      await organization.admin("DELETE", path, { url }),
      await organization.admin("GET", "/audit-events", { url }),
    ];
    await server.stop(true);
    expect(answers.map((each) => each.status)).toEqual([201, 400, 400, 200, 200, 200, 204, 200]);
    expect(answers.filter((each) => each.text.includes("s3cr3t"))).toEqual([]);
    expect(lines.join("")).toContain(PATH);
    expect(lines.join("")).not.toContain("s3cr3t");
  });

  test("201 for exactly one of twenty of the same name at once, with one audit event", async () => {
    const organization = await newOrganization();
    const answers = await Promise.all(Array.from({ length: 20 }, () => organization.admin("POST", PATH, { body: github() })));
    expect(answers.map((each) => each.status).toSorted()).toEqual([201, ...Array(19).fill(400)]);
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    const events = items.filter((each: { action: string }) => each.action === "connection.created");
    expect(events).toMatchObject([{ targetType: "connection", details: { kind: "github", name: "Our GitHub" } }]);
  });
});
