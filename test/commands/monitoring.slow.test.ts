import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needing } from "../support/needing";
import { certificate, importInto } from "../support/pki/certificates";
import { call } from "../support/server/call";
import { newOrganization } from "../support/server/people";
import { run } from "../support/server/program";
import { startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-monitoring-"));
afterAll(() => rmSync(directory, { recursive: true }));

const scrape = async () => (await call("GET", "/metrics")).text;
const namesIn = (text: string) => new Set(text.match(/\b(certitude|process|nodejs)_[a-z_]+\b/g));

type Rule = { alert: string; labels: object; annotations: Record<string, string> };
type Case = { given: Record<string, string>; labels?: object; value?: string };

/** What a healthy server tells; Prometheus adds job and instance. */
const SCRAPED = 'job="certitude",instance="a:3000"';
const HEALTHY = {
  [`up{${SCRAPED}}`]: "1x100",
  [`certitude_build_info{${SCRAPED},version="0.1.0",bun="1.4.5"}`]: "1x100",
  [`certitude_http_request_duration_seconds_count{${SCRAPED},method="GET",route="/",status="200"}`]: "0+100x100",
  [`certitude_http_request_duration_seconds_count{${SCRAPED},method="GET",route="/",status="503"}`]: "0+1x100",
  [`certitude_database_waiting{${SCRAPED}}`]: "0 3x5 0x94",
  [`certitude_job_late{${SCRAPED},name="send-mail"}`]: "0x100",
  [`certitude_job_runs_total{${SCRAPED},name="send-mail",outcome="failed"}`]: "0x50 1x50",
  [`certitude_certificate_expiry_timestamp_seconds{${SCRAPED},rank="1"}`]: "95000x100",
  [`certitude_tls_certificate_expiry_timestamp_seconds{${SCRAPED}}`]: "8640000x100",
  [`certitude_agents{${SCRAPED},health="silent"}`]: "0x100",
  [`certitude_agents{${SCRAPED},health="late"}`]: "5x100",
  [`certitude_deployments_held{${SCRAPED}}`]: "0x100",
};

/** What makes each alert fire within 90 minutes, with the labels and the value that it tells. */
const FIRING: Record<string, Case> = {
  CertitudeDown: { given: {} },
  CertitudeErrors: { given: { [`certitude_http_request_duration_seconds_count{${SCRAPED},method="GET",route="/",status="503"}`]: "0+6x100" } },
  CertitudeConnectionsExhausted: { given: { [`certitude_database_waiting{${SCRAPED}}`]: "3x100" }, labels: { job: "certitude", instance: "a:3000" } },
  CertitudeJobLate: { given: { [`certitude_job_late{${SCRAPED},name="send-mail"}`]: "1x100" }, labels: { name: "send-mail" } },
  CertitudeJobsFailing: { given: { [`certitude_job_runs_total{${SCRAPED},name="send-mail",outcome="failed"}`]: "0+1x100" }, labels: { name: "send-mail" } },
  CertitudeCertificateExpiresNext: { given: { [`certitude_certificate_expiry_timestamp_seconds{${SCRAPED},rank="1"}`]: "86000x100" } },
  CertitudeServerCertificateExpires: { given: { [`certitude_tls_certificate_expiry_timestamp_seconds{${SCRAPED}}`]: "604000x100" } },
  CertitudeAgentsSilent: { given: { [`certitude_agents{${SCRAPED},health="silent"}`]: "2x100" }, value: "2" },
  CertitudeDeploymentsHeld: { given: { [`certitude_deployments_held{${SCRAPED}}`]: "1x100" } },
};

/** For one alert: it fires where its case is given, and not while all is well. */
function testsOf({ alert, labels, annotations }: Rule) {
  const { given, labels: labelsShown, value = "" } = FIRING[alert] ?? { given: {} };
  const written = Object.fromEntries(
    Object.entries(annotations).map(([name, text]) => [name, text.replace("{{ $labels.name }}", "send-mail").replace("{{ $value }}", value)]),
  );
  const toTest = (series: object, alerts: object[]) => ({
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: "90m", alertname: alert, exp_alerts: alerts }],
  });
  const isAbsence = Object.keys(given).length === 0;
  return [toTest(HEALTHY, []), toTest(isAbsence ? {} : { ...HEALTHY, ...given }, [{ exp_labels: { ...labels, ...labelsShown }, exp_annotations: written }])];
}

describe("certitude monitoring", () => {
  test("2 for what it cannot print", async () => {
    expect(await run(["monitoring", "nagios"])).toMatchObject({ code: 2, out: "" });
  });

  test.each(["rules", "dashboard"])("%s: every metric that it names is one of /metrics", async (what) => {
    const { code, out, err } = await run(["monitoring", what]);
    expect([code, err]).toEqual([0, ""]);
    const labelsShown = new Set([...(await scrape()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const expressions = JSON.stringify(JSON.parse(out), (key, value) => (key === "uid" || key === "name" ? undefined : value));
    const unknown = [...namesIn(expressions)].filter((name) => !labelsShown.has(name) && !labelsShown.has(name.replace(/_(bucket|count|sum)$/, "")));
    expect(unknown).toEqual([]);
    expect(namesIn(expressions).size).toBeGreaterThan(5);
  });

  needing("promtool").test("rules that Prometheus' own checker takes", async () => {
    const file = join(directory, "rules.yml");
    writeFileSync(file, (await run(["monitoring", "rules"])).out);
    const checked = await Bun.$`promtool check rules ${file}`.quiet().nothrow();
    expect([checked.exitCode, checked.stderr.toString()]).toEqual([0, ""]);
  });

  needing("promtool").test("rules that fire when they should, by Prometheus' own tests, and by metrics of /metrics alone", async () => {
    const rules: Rule[] = JSON.parse((await run(["monitoring", "rules"])).out).groups[0].rules;
    expect(Object.keys(FIRING).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
    const page = await scrape();
    for (const series of Object.values(FIRING).flatMap(({ given }) => Object.keys(given)))
      expect(page).toContain(series.replace(/\{.*/, "").replace(/_count$/, ""));
    writeFileSync(join(directory, "rules.yml"), JSON.stringify({ groups: [{ name: "certitude", rules }] }));
    writeFileSync(join(directory, "tests.yml"), JSON.stringify({ rule_files: ["rules.yml"], evaluation_interval: "1m", tests: rules.flatMap(testsOf) }));
    const tested = await Bun.$`promtool test rules ${join(directory, "tests.yml")}`.quiet().nothrow();
    expect([tested.stdout.toString() + tested.stderr.toString(), tested.exitCode]).toEqual([expect.stringContaining("SUCCESS"), 0]);
  });

  test("a dashboard whose panels lie beside each other", async () => {
    const { panels } = JSON.parse((await run(["monitoring", "dashboard"])).out);
    const places = panels.map(({ gridPos: { x, y } }: { gridPos: { x: number; y: number } }) => `${x} ${y}`);
    expect(new Set(places).size).toBe(panels.length);
  });
});

describe("GET /metrics", () => {
  test("shows statements that wait for connections, while all are busy: with what was counted before", async () => {
    const { sql } = world;
    const { max } = sql.options;
    const busy = startServer({ ...world.config, requestTimeout: 2_000 }, world.database);
    const read = async () => (await call("GET", "/metrics", { url: busy.url })).text;
    const all = async () => [await figure("certitude_database_connections_busy"), await figure("certitude_database_waiting")];
    const figure = async (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(await read())?.[1]);
    expect(await figure("certitude_database_connections_max")).toBe(max);
    const sessions = await Promise.all(Array.from({ length: max }, () => sql.reserve()));
    const waiting = [1, 2, 3].map((each) => sql`select ${each}::int as each`.then(([row]) => row?.each));
    const [held, waits = 0] = await all();
    expect(held).toBe(max);
    expect(waits).toBeGreaterThanOrEqual(waiting.length);
    expect(await read()).toMatch(/^certitude_deployments_held \d+$/m);
    for (const session of sessions) session.release();
    expect(await Promise.all(waiting)).toEqual([1, 2, 3]);
    while ((await figure("certitude_database_waiting")) > 0 || (await figure("certitude_database_connections_busy")) === max) await Bun.sleep(20);
    await busy.server.stop(true);
  });

  test("shows release, connections and the soonest expiry of all organizations", async () => {
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
