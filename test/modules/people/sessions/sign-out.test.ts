import { describe, expect, test } from "bun:test";
import { call } from "../../../support/server/call";
import { newUser } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

describe("POST /auth/sign-out", () => {
  test("401 for a stranger", async () => {
    expect(await call("POST", "/auth/sign-out")).toMatchObject({ status: 401, body: "" });
  });

  test("204 and the token is refused from then on, here at once", async () => {
    const user = await newUser();
    expect(await user.call("POST", "/auth/sign-out")).toMatchObject({ status: 204, body: "" });
    expect((await user.call("GET", "/users/me")).status).toBe(401);
    expect((await user.call("POST", "/auth/sign-out")).status).toBe(401);
  });

  test("204 leaves the user's other tokens alone", async () => {
    const user = await newUser();
    const other = await newUser({ sub: user.id });
    expect((await other.call("GET", "/users/me")).body.id).toBe(user.id);
    await user.call("POST", "/auth/sign-out");
    expect((await other.call("GET", "/users/me")).status).toBe(200);
  });

  test("204 and another replica, which knows the token, refuses it within a second", async () => {
    const replica = startServer(world.config, world.database);
    const user = await newUser();
    expect((await user.call("GET", "/users/me", { url: replica.url })).status).toBe(200);
    await user.call("POST", "/auth/sign-out");
    await Bun.sleep(1_000);
    expect((await user.call("GET", "/users/me", { url: replica.url })).status).toBe(401);
    await replica.server.stop(true);
  });

  test("204 is not forgotten by a server that starts later", async () => {
    const user = await newUser();
    await user.call("POST", "/auth/sign-out");
    const replica = startServer(world.config, world.database);
    expect((await user.call("GET", "/users/me", { url: replica.url })).status).toBe(401);
    await replica.server.stop(true);
  });
});
