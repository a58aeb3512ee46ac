import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { stopAll } from "./processes";

const ADMIN_URL = Bun.env.TEST_DATABASE_URL || "postgres://postgres@127.0.0.1:5432/postgres";

export type Workplace = { url: string; directory: string };

/** An empty database and an empty directory to work in. Afterwards, however the work ends, servers are stopped and both removed. */
export async function inDatabase(purpose: string, work: (workplace: Workplace) => Promise<void>) {
  const name = `certitude_bench_${purpose}_${process.pid}`;
  const admin = postgres(ADMIN_URL, { max: 1, onnotice: () => {} });
  const directory = mkdtempSync(join(tmpdir(), "certitude-bench-"));
  try {
    await admin.unsafe(`create database ${name}`);
    await work({ url: Object.assign(new URL(ADMIN_URL), { pathname: `/${name}` }).href, directory });
  } finally {
    await stopAll();
    await admin.unsafe(`drop database if exists ${name} with (force)`);
    await admin.end();
    rmSync(directory, { recursive: true });
  }
}
