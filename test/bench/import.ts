import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { mint } from "#demo/mint";
import { MAX_BLOCKS } from "#modules/certificates/certificates/schema/certificates";
import { signToken, startCertitude, stopAll } from "./processes";

const HELP = `bun run bench:import [--embedded]

What does an import of 8 MiB cost, and how long do others wait meanwhile? Each row is one import: its answer, how long it took,
and the longest wait of /health/live and of another organization's short list, both asked without a pause.
It makes a database of its own on TEST_DATABASE_URL, or the local Postgres; with --embedded the server's own.`;

const ADMIN_URL = Bun.env.TEST_DATABASE_URL || "postgres://postgres@127.0.0.1:5432/postgres";
const DATABASE = "certitude_bench_import";
const STAFF = crypto.randomUUID();
const BODY = 8 * 1024 * 1024 - 32;
const isEmbedded = Bun.argv.includes("--embedded");

async function main() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-bench-"));
  const admin = isEmbedded ? undefined : postgres(ADMIN_URL, { max: 1, onnotice: () => {} });
  try {
    await admin?.unsafe(`drop database if exists ${DATABASE} with (force)`);
    await admin?.unsafe(`create database ${DATABASE}`);
    await bench(await startServer(directory));
  } finally {
    await stopAll();
    await admin?.unsafe(`drop database if exists ${DATABASE} with (force)`);
    await admin?.end();
    rmSync(directory, { recursive: true });
  }
}

function startServer(directory: string) {
  const database = isEmbedded ? {} : { DATABASE_URL: Object.assign(new URL(ADMIN_URL), { pathname: `/${DATABASE}` }).href };
  return startCertitude({ ...database, DATA_DIR: directory, LOG_LEVEL: "warn", PLATFORM_ADMINS: STAFF });
}

async function bench(url: string) {
  const other = await createOrganization(url);
  await importInto(url, await createOrganization(url), JSON.stringify({ pem: certificates(50, 10) })); // the first requests warm the server up
  printRow("8 MiB of", "answer", "ms", "live, ms", "list, ms");
  for (const [name, pem] of cases()) {
    if (Bun.env.ONLY && !name.includes(Bun.env.ONLY)) continue;
    const organization = await createOrganization(url);
    const body = JSON.stringify({ pem });
    const live = watch(`${url}/health/live`, {});
    const list = watch(`${url}/organizations/${other}/certificates`, gateway(other));
    const startedAt = performance.now();
    const answer = await importInto(url, organization, body);
    const took = performance.now() - startedAt;
    await Bun.sleep(50);
    printRow(name, answer, took.toFixed(0), (await live()).toFixed(0), (await list()).toFixed(0));
  }
}

function* cases(): Generator<[string, string]> {
  yield [`${MAX_BLOCKS} certificates`, certificates(MAX_BLOCKS, 88)];
  yield [`${MAX_BLOCKS} small certificates`, certificates(MAX_BLOCKS, 1)];
  yield [`${MAX_BLOCKS} that one issued`, issuedByOne(MAX_BLOCKS)];
  yield ["one name, many keys", oneName(MAX_BLOCKS)];
  yield ["certificates, 12,000", fill(certificates(1_000, 1))];
  yield ["one certificate, repeated", fill(mint({ commonName: "Again", ...validity }).pem)];
  yield ["10,000 names each", Array.from({ length: 15 }, () => withNames(10_000)).join("")];
  yield ["BEGIN lines", fill("-----BEGIN A-----\n")];
  yield ["BEGIN lines, 1.5 MB", fill("-----BEGIN A-----\n").slice(0, 1_500_000)];
  yield ["small bogus blocks", fill("-----BEGIN CERTIFICATE-----\nMAAB\n-----END CERTIFICATE-----\n")];
  yield ["dashes", fill("-")];
  yield ["lines of dashes", fill("-----\n")];
  yield ["lines in one block", `-----BEGIN CERTIFICATE-----\n${fill("A\n").slice(0, -200)}\n-----END CERTIFICATE-----`];
  yield ["one line", fill("A")];
  yield ["white space", `x${fill(" ").slice(0, -10)}x`];
}

const validity = { notBefore: new Date(Date.now() - 86_400_000), notAfter: new Date(Date.now() + 90 * 86_400_000) };
const withNames = (count: number) => mint({ commonName: `${crypto.randomUUID()}.example`, dns: dnsNames(count), ...validity }).pem;
const dnsNames = (count: number) => Array.from({ length: count }, (_, index) => `host-${index}.${crypto.randomUUID().slice(0, 8)}.example`);
const certificates = (count: number, names: number) => Array.from({ length: count }, () => withNames(names)).join("");

/** As many repetitions as a body holds, with its escapes. */
const fill = (text: string) => text.repeat(Math.floor(BODY / (JSON.stringify(text).length - 2)));

function issuedByOne(count: number) {
  const root = mint({ commonName: "Root", isCa: true, ...validity });
  const issuer = mint({ commonName: "Issuer", isCa: true, issuer: root, ...validity });
  const leaves = Array.from({ length: count - 2 }, (_, index) => mint({ commonName: `${index}.example`, dns: dnsNames(85), issuer, ...validity }).pem);
  return [...leaves, issuer.pem, root.pem].join("");
}

/** Authorities of one name and different keys that issued none of each other. */
function oneName(count: number) {
  const impostor = mint({ commonName: "One", isCa: true, ...validity });
  const issuer = { ...mint({ commonName: "Other", isCa: true, ...validity }), name: impostor.name };
  return Array.from({ length: count }, () => mint({ commonName: "One", isCa: true, issuer, ...validity }).pem).join("");
}

async function createOrganization(url: string): Promise<string> {
  const token = await signToken(STAFF);
  const headers = { authorization: `Bearer ${token}`, "x-user-id": STAFF, "content-type": "application/json" };
  const answer = await fetch(`${url}/admin/organizations`, { method: "POST", headers, body: JSON.stringify({ name: crypto.randomUUID() }) });
  return ((await answer.json()) as { id: string }).id;
}

const gateway = (id: string) => ({ "x-organization-id": id, "x-organization-role": "ORG_ADMIN", "content-type": "application/json" });

async function importInto(url: string, organization: string, body: string) {
  const answer = await fetch(`${url}/organizations/${organization}/certificates`, { method: "POST", headers: gateway(organization), body });
  const { message = "" } = (await answer.json()) as { message?: string };
  return `${answer.status} ${message.slice(0, 60)}`;
}

/** Asks again and again; what it returns ends it and returns the longest wait in ms. */
function watch(url: string, headers: Record<string, string>) {
  let longest = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const startedAt = performance.now();
      await (await fetch(url, { headers })).text();
      longest = Math.max(longest, performance.now() - startedAt);
      await Bun.sleep(2);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return longest;
  };
}

function printRow(name: string, answer: string, ...numbers: string[]) {
  console.info([name.padEnd(28), answer.padEnd(66), ...numbers.map((each) => each.padStart(9))].join(" "));
}

if (Bun.argv.includes("--help")) console.info(HELP);
else await main();
