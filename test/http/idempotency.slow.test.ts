import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { isWriting, nameOf, operations } from "../support/openapi/document";
import { certificate } from "../support/pki/certificates";
import { call, type Wish } from "../support/server/call";
import { DOCUMENTS, form } from "../support/server/knowledge";
import { newOrganization, newUser, type TestOrganization } from "../support/server/people";
import { populatedOrganization, withQueue } from "../support/server/populated-organization";
import { prepare } from "../support/server/prepare";
import { startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);
withQueue();

const withKey = (key: string, wish: Wish = {}): Wish => ({ ...wish, headers: { ...wish.headers, "idempotency-key": key } });
const newAgent = (organization: TestOrganization, key: string, body: object = { name: "web-01" }) =>
  organization.admin("POST", "/agents", withKey(key, { body }));
const agentsOf = async (organization: TestOrganization) => (await organization.admin("GET", "/agents")).body.items;
const kept = (answer: Awaited<ReturnType<typeof call>>) => ({
  status: answer.status,
  text: answer.text,
  headers: ["content-type", "etag", "location", "cache-control"].map((name) => answer.headers.get(name)),
});

describe("a write with an Idempotency-Key", () => {
  test("is done once and answered alike, secrets that are shown once too", async () => {
    const organization = await newOrganization();
    const [first, again] = [await newAgent(organization, "one"), await newAgent(organization, "one")];
    const { token } = first.body;
    expect(token).toStartWith("cag_");
    expect(kept(again)).toEqual(kept(first));
    expect(again.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    expect(await agentsOf(organization)).toHaveLength(1);
    const { body: events } = await organization.admin("GET", "/audit-events");
    expect(events.items.filter((each: { action: string }) => each.action === "agent.created")).toHaveLength(1);
    const rows =
      await world.sql`select row_to_json(k)::text || encode(answer, 'escape') as text from idempotency_keys k where caller like ${`${organization.id}%`}`;
    expect(rows).toHaveLength(1);
    expect(rows[0]?.text).not.toContain(token);
  });

  test("400 with another body, and what was done stays", async () => {
    const organization = await newOrganization();
    await newAgent(organization, "one");
    const message = "This Idempotency-Key was used for the same operation with another body. Send a new key, or the same body.";
    expect(await newAgent(organization, "one", { name: "web-02" })).toMatchObject({ status: 400, body: { message } });
    expect(await agentsOf(organization)).toHaveLength(1);
  });

  test.each([
    ["", "empty"],
    ["two words", "a space"],
    ["ü", "another alphabet"],
    ["x".repeat(256), "256 characters"],
  ])("400 for %j as a key: %s", async (key) => {
    const organization = await newOrganization();
    const message = "The header idempotency-key must be 1 to 255 visible ASCII characters.";
    expect(await newAgent(organization, key)).toMatchObject({ status: 400, body: { message } });
    expect(await agentsOf(organization)).toEqual([]);
  });

  test("201 twice for two callers, two paths and two keys", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const { token } = await organization.join();
    const answers = [
      await newAgent(organization, "one"),
      await newAgent(organization, "x".repeat(255)),
      await newAgent(other, "one"),
      await organization.admin("POST", "/agents", withKey("one", { body: { name: "web-01" }, token })),
    ];
    expect(new Set(answers.map((each) => each.body.id)).size).toBe(4);
    const { id } = answers[0]?.body ?? {};
    expect((await organization.admin("DELETE", `/agents/${id}`, withKey("one"))).status).toBe(204);
    expect((await organization.admin("DELETE", `/agents/${id}`, withKey("one"))).status).toBe(204);
    expect((await organization.admin("DELETE", `/agents/${id}`, withKey("two"))).status).toBe(404);
  });

  test("is tried again when it was refused", async () => {
    const organization = await newOrganization({ seatLimit: 1 });
    const invite = () => organization.admin("POST", "/members", withKey("one", { body: { email: "ada@people.example" } }));
    await organization.join();
    expect((await invite()).status).toBe(403);
    await world.sql`update organizations set seat_limit = 2 where id = ${organization.id}`;
    expect((await invite()).status).toBe(201);
    expect((await organization.admin("POST", "/agents", withKey("two", { body: { nome: "web" } }))).status).toBe(400);
    expect((await newAgent(organization, "two")).status).toBe(201);
  });

  test("costs a stranger's key nothing, and gives no answer away", async () => {
    const organization = await newOrganization();
    await newAgent(organization, "one");
    const { token } = await newUser();
    const answer = await call("POST", `/organizations/${organization.id}/agents`, { ...withKey("one", { body: { name: "web-01" } }), token });
    expect(answer.status).toBe(403);
    expect(await world.sql`select 1 from idempotency_keys where caller like ${`${organization.id}%`}`).toHaveLength(1);
  });

  test("201 the same once for sixteen that race, whichever replica they reach", async () => {
    const organization = await newOrganization();
    const replica = startServer(world.config, world.database);
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        organization.admin("POST", "/agents", withKey("race", { body: { name: "web-01" }, url: index % 2 === 0 ? world.url : replica.url })),
      ),
    );
    expect(new Set(answers.map((each) => each.text)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    expect(await agentsOf(organization)).toHaveLength(1);
    await replica.server.stop(true);
  });

  test("is a new one after a day", async () => {
    const organization = await newOrganization();
    const first = await newAgent(organization, "one");
    await world.sql`update idempotency_keys set created_at = now() - interval '24 hours 1 second' where caller like ${`${organization.id}%`}`;
    const second = await newAgent(organization, "one", { name: "web-02" });
    expect(second.status).toBe(201);
    expect(second.body.id).not.toBe(first.body.id);
  });

  test("429 for a caller with too many keys, who may go on without", async () => {
    const organization = await newOrganization();
    const first = await newAgent(organization, "one");
    await prepare(
      (sql) => sql`
        insert into idempotency_keys (caller, key_hash, body_hash, claim_id)
        select caller, int4send(n), body_hash, new_id() from idempotency_keys, generate_series(1, 9999) as n where caller like ${`${organization.id}%`}`,
    );
    const answer = await newAgent(organization, "two");
    expect(answer.status).toBe(429);
    expect(answer.headers.get("retry-after")).toBe("3600");
    expect((await newAgent(organization, "one")).text).toBe(first.text);
    expect((await organization.admin("POST", "/agents", { body: { name: "web-03" } })).status).toBe(201);
    await world.sql`delete from idempotency_keys where caller like ${`${organization.id}%`}`;
  });

  test("201 the same for a file of 48 MB that is sent again in a form with another boundary", async () => {
    const { organization, user } = await populatedOrganization();
    const upload = async (text: string) => {
      const sent = await form({ file: new File([text], "keys.md"), title: "Keys", organizationId: organization.id });
      return call("POST", DOCUMENTS, withKey("upload", { token: user.token, ...sent, headers: { ...sent.headers, "x-user-id": user.id } }));
    };
    const text = `# Keys\n\n${"Keys rotate yearly. ".repeat(2_400_000)}`;
    const [first, again] = [await upload(text), await upload(text)];
    expect(first.status).toBe(201);
    expect(kept(again)).toEqual(kept(first));
    expect((await upload(`${text}.`)).status).toBe(400);
  });

  test("201 the same for a large import", async () => {
    const organization = await newOrganization();
    const pem = Array.from({ length: 50 }, () => certificate().pem).join("\n");
    const send = () => organization.admin("POST", "/certificates", withKey("import", { body: { pem } }));
    const [first, again] = await Promise.all([send(), send()]);
    expect(first).toMatchObject({ status: 201, body: { imported: { length: 50 } } });
    expect(again.text).toBe(first.text);
  });
});

describe.each(operations.filter(isWriting).map((operation) => [nameOf(operation), operation] as const))("%s", (_, operation) => {
  test("documents the header, and answers alike what is sent again", async () => {
    expect(operation.parameters.map((each) => each.name)).toContain("Idempotency-Key");
    const everything = await populatedOrganization();
    const send = () => everything.send(operation, { headers: { "idempotency-key": "again" } });
    const first = await send();
    const again = await send();
    if (operation.id === "signOut") expect([first.status, again.status]).toEqual([204, 401]);
    else expect(kept(again)).toEqual(kept(first));
  });
});
