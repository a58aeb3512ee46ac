import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { certificate, importInto } from "../support/pki/certificates";
import { call } from "../support/server/call";
import { newOrganization } from "../support/server/people";
import { run } from "../support/server/program";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-monitoring-"));
afterAll(() => rmSync(directory, { recursive: true }));

const scrape = async () => (await call("GET", "/metrics")).text;
const namesIn = (text: string) => new Set(text.match(/\b(certitude|process|nodejs)_[a-z_]+\b/g));

describe("certitude monitoring", () => {
  test("2 for what it cannot print", async () => {
    expect(await run(["monitoring", "nagios"])).toMatchObject({ code: 2, out: "" });
  });

  test.each(["rules", "dashboard"])("%s: every metric that it names is one of /metrics", async (what) => {
    const { code, out, err } = await run(["monitoring", what]);
    expect([code, err]).toEqual([0, ""]);
    const told = new Set([...(await scrape()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const expressions = JSON.stringify(JSON.parse(out), (key, value) => (key === "uid" || key === "name" ? undefined : value));
    const unknown = [...namesIn(expressions)].filter((name) => !told.has(name) && !told.has(name.replace(/_(bucket|count|sum)$/, "")));
    expect(unknown).toEqual([]);
    expect(namesIn(expressions).size).toBeGreaterThan(5);
  });

  test("rules that Prometheus' own checker takes", async () => {
    const file = join(directory, "rules.yml");
    writeFileSync(file, (await run(["monitoring", "rules"])).out);
    const checked = await Bun.$`promtool check rules ${file}`.quiet().nothrow();
    expect([checked.exitCode, checked.stderr.toString()]).toEqual([0, ""]);
  });

  test("a dashboard whose panels lie beside each other", async () => {
    const { panels } = JSON.parse((await run(["monitoring", "dashboard"])).out);
    const places = panels.map(({ gridPos: { x, y } }: { gridPos: { x: number; y: number } }) => `${x} ${y}`);
    expect(new Set(places).size).toBe(panels.length);
  });
});

describe("GET /metrics", () => {
  test("tells release, connections and the soonest expiry of all organizations", async () => {
    const organization = await newOrganization();
    await importInto(organization, certificate({ days: 90 }).pem);
    const text = await scrape();
    expect(text).toMatch(/^certitude_build_info\{version="\d+\.\d+\.\d+",bun="\d+\.\d+\.\d+"\} 1$/m);
    const figure = (line: string) =>
      Number(
        text
          .split("\n")
          .find((each) => each.startsWith(`${line} `))
          ?.slice(line.length + 1),
      );
    expect(figure("certitude_database_connections_max")).toBeGreaterThan(0);
    expect(figure("certitude_database_connections_busy")).toBeLessThanOrEqual(figure("certitude_database_connections_max"));
    expect(figure("certitude_database_waiting")).toBeGreaterThanOrEqual(0);
    const ranks = [...text.matchAll(/^certitude_certificate_expiry_timestamp_seconds\{rank="\d+"\} (\S+)$/gm)].map(([, at]) => Number(at));
    expect(ranks).toEqual(ranks.toSorted((one, other) => one - other));
    expect(text).not.toMatch(/^certitude_tls_certificate_expiry_timestamp_seconds /m);
  });
});
