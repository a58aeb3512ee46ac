import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { call } from "../support/server/call";
import { endServers, newDirectory, newPlace, run, serve } from "../support/server/program";
import { sendRaw } from "../support/server/raw";

setDefaultTimeout(300_000);

const METRICS_TOKEN = "a metrics token of the tests that is long enough";
const [STRANGERS, AGENTS, ROUNDS, RUNS] = [300, 40, 20, 40];

type Place = Awaited<ReturnType<typeof newPlace>>;
const places: [on: string, place: Place][] = [["the embedded database", newDirectory()]];
if (Bun.env.TEST_DATABASE_URL) places.push(["Postgres", await newPlace()]);
afterEach(endServers);
afterAll(async () => {
  for (const [, place] of places) await place.remove();
});

/** An organization with agents, made as an operator does. */
async function populate(url: string, env: Record<string, string>) {
  const certitude = async (...args: string[]) => (await run(args, env)).out;
  const admin = ["--admin-user", crypto.randomUUID(), "--admin-email", "ada@people.example"];
  const organization = await certitude("admin", "create-organization", "--name", "Engines", ...admin);
  const token = await certitude("api-token", "create", "--organization", organization, "--name", "Pipeline", "--role", "ORG_ADMIN", "--expires", "1d");
  const headers = { "x-organization-id": organization, "x-organization-role": "ORG_ADMIN" };
  const post = (path: string, body: object) => call("POST", `/organizations/${organization}${path}`, { url, token, headers, body });
  const agents: { id: string; token: string }[] = [];
  for (let index = 0; index < AGENTS; index++) agents.push((await post("/agents", { name: `web-${index}` })).body);
  /** A write in a transaction. */
  const label = async ({ id }: { id: string }, round: number) =>
    (await post("/fleet-operations/bulk-label-update", { agentIds: [id], set: { round: `${round}` } })).status;
  return { agents, label };
}

test.each(places)("on %s a crowd of strangers and of agents that come back at once is answered, beside jobs", async (_, place) => {
  const server = serve({ ...place.env, METRICS_TOKEN, RATE_LIMITS: "off" });
  const url = await server.url();
  const { agents, label } = await populate(url, place.env);
  const countRuns = async () => {
    const lines = (await call("GET", "/metrics", { url, token: METRICS_TOKEN })).text.split("\n");
    const runs = lines.filter((line) => line.startsWith("certitude_job_runs_total{") && line.includes('outcome="succeeded"'));
    return runs.reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
  };
  const stranger = async (index: number) =>
    (await sendRaw(`GET /.well-known/acme-challenge/token-of-nobody-${index} HTTP/1.1\r\nHost: localhost\r\n\r\n`, url)).status;
  const agent = async ({ token }: { token: string }) => [
    (await call("GET", "/agent/assignments", { url, token })).status,
    (await call("POST", "/agent/reports", { url, token, body: { reports: [] } })).status,
  ];
  const before = await countRuns();
  for (let round = 0; round < ROUNDS || (await countRuns()) < before + RUNS; round++) {
    const [strangers, answers, labelled] = await Promise.all([
      Promise.all(Array.from({ length: STRANGERS }, (_, index) => stranger(index))),
      Promise.all(agents.map(agent)),
      Promise.all(agents.map((each) => label(each, round))),
    ]);
    expect(new Set(strangers)).toEqual(new Set([404]));
    expect(new Set(answers.flat())).toEqual(new Set([200, 204]));
    expect(new Set(labelled)).toEqual(new Set([200]));
  }
  expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
});
