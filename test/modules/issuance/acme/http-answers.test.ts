import { describe, expect, test } from "bun:test";
import type { Sql } from "#db/connect";
import { findAnswer } from "#modules/issuance/acme/queries/answers";
import { http01 } from "#modules/issuance/acme/services/solvers";
import { call } from "../../../support/server/call";
import { sendRaw } from "../../../support/server/raw";
import { startServer, world } from "../../../support/server/world";

/** Takes back what a test has deleted. */
class Alone extends Error {
  constructor(readonly isForName: boolean | undefined) {
    super(String(isForName));
  }
}

const signal = new AbortController().signal;
const newRequest = () => ({ organizationId: Bun.randomUUIDv7(), requestId: Bun.randomUUIDv7() });
const newProof = () => ({
  name: "a.example",
  type: "http-01" as const,
  challenge: 0,
  challengeUrl: "https://ca.example/challenge",
  token: crypto.randomUUID().replaceAll("-", "_"),
  thumbprint: "thumbprint-of-the-account",
  state: "planned" as const,
});
const solver = (request = newRequest(), clock = () => new Date()) => http01({ sql: world.sql, stamps: world.deps.stamps, clock, ownNames: () => [] }, request);
const pathOf = ({ token }: { token: string }) => `/.well-known/acme-challenge/${token}`;

describe("GET /.well-known/acme-challenge/{token}", () => {
  test.each(["unknown-token-1234567", "short", "%00", "%f0", "a/b", "x".repeat(5_000)])("404 %s is no token that an order waits for", async (token) => {
    expect(await call("GET", `/.well-known/acme-challenge/${token}`)).toMatchObject({ status: 404, body: { message: expect.any(String) } });
  });

  const asked = { headers: { host: "A.example.:80" } };

  test("200 answers who asks by the name that is proven, on every replica; never from a cache", async () => {
    const proof = newProof();
    await solver().present(proof, signal);
    const answer = await call("GET", pathOf(proof), asked);
    expect(answer).toMatchObject({ status: 200, text: `${proof.token}.${proof.thumbprint}` });
    expect(answer.headers.get("content-type")).toBe("text/plain");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const replica = startServer(world.config, world.database);
    expect((await call("GET", pathOf(proof), { ...asked, url: replica.url })).text).toBe(answer.text);
    await replica.server.stop(true);
    const raw = (host: string, headers = "") => sendRaw(`GET ${pathOf(proof)} HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n`);
    expect(await raw("certitude.internal", "X-Forwarded-Host: a.example, proxy.internal\r\n")).toMatchObject({ status: 200 });
  });

  test("404 by another name than the order is for, as a token that a CA of the organization's own gave may be one of another CA", async () => {
    const proof = newProof();
    await solver().present(proof, signal);
    for (const host of ["shop.a.example", "b.example", "a.example.b.example"])
      expect(await call("GET", pathOf(proof), { headers: { host } })).toMatchObject({ status: 404, body: { message: expect.stringContaining("Host") } });
  });

  test("200 by whatever name where the server has one organization", async () => {
    const [first, ...others] = await world.sql<{ id: string }[]>`select id from organizations`;
    const proof = newProof();
    const request = { organizationId: first?.id ?? "", requestId: Bun.randomUUIDv7() };
    await solver(request).present(proof, signal);
    const isAlone = async (sql: Sql) => (await findAnswer(sql, world.deps.stamps, proof.token, ["proxy.internal"]))?.isForName;
    expect(await isAlone(world.sql)).toBe(others.length === 0);
    const alone = world.sql.begin(async (tx) => {
      await tx`delete from organizations where id <> ${request.organizationId}`;
      throw new Alone(await isAlone(tx));
    });
    expect(alone).rejects.toEqual(new Alone(true));
  });

  test("404 once it was taken away, or has expired", async () => {
    const [proof, other] = [newProof(), newProof()];
    const request = newRequest();
    await solver(request).present(proof, signal);
    await solver(request).remove(proof, signal);
    expect((await call("GET", pathOf(proof))).status).toBe(404);
    await solver(request, () => new Date(Date.now() - 8 * 86_400_000)).present(other, signal);
    expect((await call("GET", pathOf(other))).status).toBe(404);
    await solver(request).present(proof, signal);
    expect(await world.sql`select from acme_http_answers where token = ${other.token}`).toHaveLength(0);
  });

  test("a token is one request's: another one neither replaces nor takes away its answer", async () => {
    const proof = newProof();
    await solver().present(proof, signal);
    expect(solver().present({ ...proof, thumbprint: "another" }, signal)).rejects.toThrow("a token for http-01 that it had given before");
    await solver().remove(proof, signal);
    expect((await call("GET", pathOf(proof), asked)).text).toBe(`${proof.token}.${proof.thumbprint}`);
  });
});
