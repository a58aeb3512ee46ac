import { describe, expect, test } from "bun:test";
import { grantPlatformAdmin } from "#modules/people/users/queries";
import { newOrganization, newUser } from "../support/server/people";
import { world } from "../support/server/world";

describe("a compressed request body", () => {
  const body = JSON.stringify({ displayName: "Ada" });
  const send = async (coding: string, raw: string | Uint8Array<ArrayBuffer>, token?: string) =>
    fetch(`${world.url}/users/me/profile`, {
      method: "PATCH",
      headers: { "content-type": "application/json", "content-encoding": coding, ...(token && { authorization: `Bearer ${token}` }) },
      body: raw,
    });

  test.each(["gzip", "br", "deflate", "zstd", "x-unknown", "identity, gzip", "GZIP"])("415 for %s, with the coding that is taken", async (coding) => {
    const { token } = await newUser();
    const answer = await send(coding, Bun.gzipSync(body), token);
    expect([answer.status, answer.headers.get("accept-encoding")]).toEqual([415, "identity"]);
    expect(await answer.json()).toEqual({ message: "The body must not be compressed: send it without content-encoding." });
    expect((await send(coding, body, token)).status).toBe(415);
  });

  test("401 for a stranger, 200 for identity", async () => {
    const { token } = await newUser();
    expect((await send("gzip", Bun.gzipSync(body))).status).toBe(401);
    for (const coding of ["identity", "Identity"]) expect((await send(coding, body, token)).status).toBe(200);
  });

  test("415 for a form and for metrics, after the sender is known", async () => {
    const organization = await newOrganization();
    const path = `${world.url}/organizations/${organization.id}/ai-governance/ingest/metrics`;
    const gzip = (headers: Record<string, string>) =>
      fetch(path, { method: "POST", headers: { "content-type": "application/json", "content-encoding": "gzip", ...headers }, body: Bun.gzipSync("{}") });
    expect((await gzip({})).status).toBe(415);
    expect((await gzip({ authorization: "Bearer nobody" })).status).toBe(401);
    const user = await newUser();
    await user.call("GET", "/users/me");
    await grantPlatformAdmin(world.sql, world.deps.stamps, user.id, true);
    const form = new FormData();
    form.set("title", "A");
    const upload = await fetch(`${world.url}/admin/knowledge-base/documents`, {
      method: "POST",
      headers: { authorization: `Bearer ${user.token}`, "x-user-id": user.id, "content-encoding": "gzip" },
      body: form,
    });
    expect([upload.status, upload.headers.get("accept-encoding")]).toEqual([415, "identity"]);
  });
});
