import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { version } from "../../package.json";
import { call } from "../support/server/call";
import { sign } from "../support/server/people";
import { newDirectory, run } from "../support/server/program";
import { startReverseProxy } from "../support/server/reverse-proxy";
import { environment, JWT_SECRET, world } from "../support/server/world";

setDefaultTimeout(300_000);
const { env, remove } = newDirectory();
afterAll(remove);

const COMMANDS = ["serve", "agent", "migrate", "token", "api-token", "admin", "secrets", "backup", "restore", "openapi", "doctor", "healthcheck"];

describe.concurrent("certitude", () => {
  test("without a command prints its help, every command and variable in it", async () => {
    const { code, out } = await run([]);
    expect(code).toBe(0);
    for (const word of [...COMMANDS, "DATABASE_URL", "SECRETS_KEY", "TRUSTED_GATEWAYS", "Exit codes"]) expect(out).toContain(word);
    expect((await run(["--help"])).out).toBe(out);
  });

  test.each([...COMMANDS, "agent run", "api-token create", "admin grant", "admin revoke", "admin create-organization"])(
    "%s --help explains itself",
    async (command) => {
      const { code, out } = await run([...command.split(" "), "--help"]);
      expect(code).toBe(0);
      expect(out).toStartWith(`Usage: certitude ${command} `);
    },
  );

  test("token --help names its defaults in words, not an id that would be another one each time", async () => {
    const { out } = await run(["token", "--help"]);
    expect(out).toContain("(default: a new one)");
    expect(out).toContain("(default: 1h)");
  });

  test("--version prints it", async () => {
    expect(await run(["--version"])).toEqual({ code: 0, out: version, err: "" });
  });

  test.each(["fly", "--fly", "serve --fly", "serve now", "token --ttl", "admin fly", "admin grant", "migrate --status=x"])(
    "%s is wrong usage: exit 2, with a word on standard error",
    async (command) => {
      const { code, out, err } = await run(command.split(" "));
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain("error: ");
    },
  );

  test.each(["serve", "migrate", "token", "admin grant 0193b3c0-0000-7000-8000-0000000000ad"])(
    "%s names every fault of the configuration: exit 2, and makes nothing",
    async (command) => {
      const faulty = { ...env, PORT: "x", LOG_LEVEL: "loud", DATABASE_URL: "postgres://localhost/none" };
      const { code, out, err } = await run(command.split(" "), faulty);
      expect([code, out]).toEqual([2, ""]);
      expect(err.split("\n")).toEqual([
        "SECRETS_KEY is required with DATABASE_URL (openssl rand -base64 32).",
        "JWT_SECRET or OIDC_ISSUER is required with DATABASE_URL: who signs the tokens?",
        'PORT must be a number from 0 to 65535, not "x".',
        expect.stringContaining("LOG_LEVEL must be one of"),
      ]);
      expect(existsSync(env.DATA_DIR ?? "")).toBe(false);
    },
  );
});

describe("certitude openapi", () => {
  test("prints the server's document, and needs no configuration", async () => {
    const { code, out } = await run(["openapi"]);
    expect(code).toBe(0);
    const { servers, ...document } = JSON.parse(out);
    const { servers: here, ...served } = (await call("GET", "/swagger/json")).body;
    expect(document).toEqual(served);
    expect(servers).toEqual([{ ...here[0], url: "http://localhost:3000" }]);
  });
});

describe("certitude healthcheck", () => {
  test("0 when the server is ready", async () => {
    for (const url of [world.url, `${world.url}/`, `${world.url}/health/ready`])
      expect(await run(["healthcheck", "--url", url])).toEqual({ code: 0, out: "ready", err: "" });
    const proxy = await startReverseProxy(world.url, { below: "rewrite ^/certitude/(.*)$ /$1 break; proxy_pass http://$app;" });
    expect(await run(["healthcheck", "--url", `${proxy.urls.below}/certitude/`])).toEqual({ code: 0, out: "ready", err: "" });
    await proxy.stop();
    const port = String(world.server.port);
    expect(await run(["healthcheck"], { ...env, PORT: port })).toMatchObject({ code: 0 });
    expect(await run(["healthcheck"], { ...env, PORT: port, HOST: "0.0.0.0" })).toMatchObject({ code: 0 });
  });

  test("1 when it is not, or is not there", async () => {
    expect(await run(["healthcheck", "--url", `${world.url}/nothing`])).toEqual({ code: 1, out: "", err: `${world.url}/nothing/health/ready answered 404.` });
    expect(await run(["healthcheck", "--url", "certitude.example"])).toMatchObject({ code: 2, err: expect.stringContaining("--url must be an address that") });
    expect(await run(["healthcheck"], { ...env, PORT: "1" })).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1\/health\/ready cannot be reached: ECONNREFUSED/),
    });
  });
});

describe.concurrent("certitude token", () => {
  const secret = { ...env, JWT_SECRET };
  const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());

  test("prints a token that the server takes", async () => {
    const user = crypto.randomUUID();
    const { code, out } = await run(["token", "--user", user.toUpperCase(), "--email", "ada@people.example"], secret);
    expect(code).toBe(0);
    expect(await call("GET", "/users/me", { token: out })).toMatchObject({ status: 200, body: { id: user, email: "ada@people.example" } });
    expect(claimsOf(out).exp - claimsOf(out).iat).toBe(3_600);
    expect(claimsOf(out).email_verified).toBe(true);
  });

  test.each([
    ["90", 90],
    ["90s", 90],
    ["15m", 900],
    ["8h", 28_800],
    ["30d", 2_592_000],
  ])("--ttl %s is %d seconds", async (ttl, seconds) => {
    const { exp, iat } = claimsOf((await run(["token", "--ttl", ttl], secret)).out);
    expect(exp - iat).toBe(seconds);
  });

  test.each([
    ["--ttl", "0"],
    ["--ttl", "-5m"],
    ["--ttl", "1w"],
    ["--ttl", "soon"],
    ["--user", "ada"],
  ])("%s %s is wrong usage", async (option, value) => {
    const { code, out, err } = await run(["token", `${option}=${value}`], secret);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("It must be a ");
  });

  test("1 where an identity provider signs the tokens", async () => {
    const err = "There is no JWT_SECRET: the identity provider of OIDC_ISSUER signs the tokens.";
    expect(await run(["token"], { ...env, OIDC_ISSUER: "https://login.example", JWT_AUDIENCE: "certitude" })).toEqual({ code: 1, out: "", err });
  });

  test("is not taken with another secret", async () => {
    const { out } = await run(["token"], { ...env, JWT_SECRET: "another secret that is as long as it takes" });
    expect((await call("GET", "/users/me", { token: out })).status).toBe(401);
    expect((await call("GET", "/users/me", { token: await sign({ sub: crypto.randomUUID() }) })).status).toBe(200);
    expect(environment.JWT_SECRET).not.toBe("another secret that is as long as it takes");
  });
});
