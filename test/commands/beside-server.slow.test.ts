import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { call } from "../support/server/call";
import { endServers, newDirectory, run, serve } from "../support/server/program";

setDefaultTimeout(300_000);

const place = newDirectory();
const socket = join(place.env.DATA_DIR ?? "", "admin.sock");
const user = crypto.randomUUID();
const certitude = (...args: string[]) => run(args, place.env);
const newOrganization = () => certitude("admin", "create-organization", "--name", "Engines", "--admin-user", user, "--admin-email", "ada@people.example");

afterEach(endServers);
afterAll(() => place.remove());

describe("commands beside the server of an embedded database", () => {
  let server: ReturnType<typeof serve>;
  let url: string;
  beforeAll(async () => {
    server = serve(place.env);
    url = await server.url();
  });

  test("make admins, organizations and tokens that this server knows at once, through a socket that is its owner's", async () => {
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(place.env.DATA_DIR ?? "").mode & 0o777).toBe(0o700);

    const { code, out: organization } = await newOrganization();
    expect(code).toBe(0);
    const made = await certitude("api-token", "create", "--organization", organization, "--name", "Pipeline", "--role", "ORG_ADMIN", "--expires", "1d");
    expect([made.code, made.err]).toEqual([0, ""]);
    const headers = { "x-organization-id": organization, "x-organization-role": "ORG_ADMIN" };
    const events = await call("GET", `/organizations/${organization}/audit-events`, { url, token: made.out, headers });
    expect(events.body.items[0]).toMatchObject({ action: "api-token.created", actor: { type: "command-line" } });

    const nowhere = crypto.randomUUID();
    const refused = await certitude("api-token", "create", "--organization", nowhere, "--name", "Pipeline", "--role", "ORG_ADMIN");
    expect(refused).toEqual({ code: 1, out: "", err: `There is no organization ${nowhere}.` });

    expect(await certitude("admin", "grant", user)).toEqual({ code: 0, out: `${user} is a platform admin.`, err: "" });
    expect(await certitude("admin", "revoke", user)).toMatchObject({ code: 0 });
    expect(await certitude("admin", "revoke", nowhere)).toEqual({ code: 1, out: "", err: `There is no user ${nowhere}.` });

    const staff = (await certitude("token", "--staff", "--user", user)).out;
    const platform = await call("GET", "/admin/jobs", { url, token: staff, headers: { "x-user-id": user } });
    expect(platform.status).toBe(200);
    for (const command of [
      ["counts", "rebuild"],
      ["secrets", "trust"],
      ["secrets", "rotate"],
      ["backup", join(place.directory, "backup")],
    ])
      expect(await certitude(...command)).toMatchObject({ code: 0 });
    expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
    expect(existsSync(socket)).toBe(false);
    expect(await newOrganization()).toMatchObject({ code: 0 });
  });

  test("do it themselves where a killed server left its socket behind", async () => {
    const killed = serve(place.env);
    await killed.url();
    await killed.exit("SIGKILL");
    expect(existsSync(socket)).toBe(true);
    expect(await newOrganization()).toMatchObject({ code: 0 });
  });
});
