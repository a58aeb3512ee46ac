import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { API_TOKENS } from "../support/server/api-tokens";
import { call } from "../support/server/call";
import { endServers, newPlace, run, serve } from "../support/server/program";

setDefaultTimeout(300_000);

const DAY = 86_400_000;
const user = crypto.randomUUID();
let place: Awaited<ReturnType<typeof newPlace>>;
let organization: string;
const certitude = (...args: string[]) => run(args, place.env);
const create = (change: Record<string, string> = {}) =>
  certitude("api-token", "create", ...Object.entries({ "--organization": organization, "--name": "Pipeline", "--role": "ORG_ADMIN", ...change }).flat());

beforeAll(async () => {
  place = await newPlace();
  const wish = ["admin", "create-organization", "--name", "Engines", "--admin-user", user, "--admin-email", "ada@people.example"];
  organization = (await certitude(...wish)).out;
});
afterAll(async () => {
  endServers();
  await place.remove();
});

describe("certitude api-token create", () => {
  test("2 for wrong usage", async () => {
    expect(await certitude("api-token", "create")).toMatchObject({ code: 2, out: "", err: expect.stringContaining("--organization <uuid>") });
    for (const change of [{ "--organization": "mine" }, { "--name": " " }, { "--role": "OWNER" }, { "--expires": "soon" }, { "--expires": "3651d" }])
      expect(await create(change)).toMatchObject({ code: 2, out: "", err: expect.stringContaining("error: ") });
  });

  test("1 for an organization that does not exist", async () => {
    const nowhere = crypto.randomUUID();
    expect(await create({ "--organization": nowhere })).toEqual({ code: 1, out: "", err: `There is no organization ${nowhere}.` });
  });

  test("prints a token that the server takes, and the audit trail says that the command line made it", async () => {
    const before = Date.now();
    const { code, out: token, err } = await create({ "--organization": organization.toUpperCase(), "--expires": "90d" });
    expect([code, err]).toEqual([0, ""]);
    expect(token).toMatch(/^cat_[\w-]{43}$/);
    const server = serve(place.env);
    const headers = { "x-organization-id": organization, "x-organization-role": "ORG_ADMIN" };
    const read = async (path: string) =>
      (await call("GET", `/organizations/${organization}${path}`, { url: await server.url(), headers, token })).body.items[0];
    const made = await read(API_TOKENS);
    expect(made).toMatchObject({ name: "Pipeline", role: "ORG_ADMIN", createdBy: { type: "command-line" } });
    expect(Math.round((Date.parse(made.expiresAt) - before) / DAY)).toBe(90);
    expect(await read("/audit-events")).toMatchObject({ action: "api-token.created", targetId: made.id, actor: { type: "command-line" } });
    expect((await server.exit("SIGTERM")).code).toBe(0);
    expect(server.lines.join("")).not.toContain(token);
  });
});
