import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needing } from "../support/needing";
import { PROGRAM, run } from "../support/server/program";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-install-"));
afterAll(() => rmSync(directory, { recursive: true }));

describe("certitude install --print", () => {
  test("2 without --print, and for what it cannot print", async () => {
    expect(await run(["install"])).toMatchObject({ code: 2, out: "" });
    expect(await run(["install", "--print", "helm"])).toMatchObject({ code: 2, out: "" });
  });

  needing("systemd-analyze").test("prints a unit of this executable that systemd takes, and calls well guarded", async () => {
    const { code, out, err } = await run(["install", "--print"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`\nExecStart=${PROGRAM} serve\n`);
    const unit = join(directory, "certitude.service");
    writeFileSync(unit, `${out}\n`);
    const verified = await Bun.$`systemd-analyze verify ${unit}`.quiet().nothrow();
    expect([verified.exitCode, verified.stderr.toString()]).toEqual([0, ""]);
    const judged = await Bun.$`systemd-analyze security --offline=true --threshold=20 ${unit}`.quiet().nothrow(); // of 100
    expect(judged.exitCode).toBe(0);
  });

  needing("docker-compose").test("prints a compose file that docker-compose takes, asks for each secret, and gives few rights", async () => {
    const { code, out } = await run(["install", "--print", "compose"]);
    expect(code).toBe(0);
    const { services, volumes } = Bun.YAML.parse(out) as { services: Record<string, Record<string, unknown>>; volumes: object };
    expect(Object.keys(volumes)).toEqual(["data", "postgres"]);
    expect(services.certitude).toMatchObject({
      read_only: true,
      cap_drop: ["ALL"],
      command: ["serve"],
      volumes: ["data:/data"],
      ports: ["127.0.0.1:3000:3000"],
    });

    const file = join(directory, "compose.yaml");
    writeFileSync(file, out);
    const secrets = { POSTGRES_PASSWORD: "a", SECRETS_KEY: "b", JWT_SECRET: "c" };
    const configure = (env: object) =>
      Bun.$`docker-compose --file ${file} config`
        .env({ PATH: Bun.env.PATH ?? "", ...env })
        .quiet()
        .nothrow();
    const taken = await configure(secrets);
    expect([taken.exitCode, taken.stderr.toString()]).toEqual([0, ""]);
    expect(Bun.YAML.parse(taken.stdout.toString())).toMatchObject({
      services: { certitude: { environment: { DATABASE_URL: "postgres://certitude:a@postgres:5432/certitude", SECRETS_KEY: "b", JWT_SECRET: "c" } } },
    });
    for (const name of Object.keys(secrets)) {
      const refused = await configure({ ...secrets, [name]: "" });
      expect([refused.exitCode, refused.stderr.toString()]).toEqual([1, expect.stringContaining("is missing in .env")]);
    }
  });
});
