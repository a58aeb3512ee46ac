import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runs } from "./consumers";

/** Somebody else's certutil or pk12util on a database, which has a password where the file `password` lies beside its directory. */
async function run(tool: string, database: string, args: string[], input = "") {
  const child = Bun.spawn([tool, "-d", `sql:${database}`, ...args], { stdin: Buffer.from(input), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0 && !/no keys found/.test(stdout + stderr)) throw new Error(`${tool} ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** Whether the server has greeted; tstclnt itself would wait on. */
async function greets(args: string[]) {
  const child = Bun.spawn(["tstclnt", ...args], { stdin: Buffer.from("GET / HTTP/1.0\r\n\r\n"), stdout: "pipe", stderr: "pipe" });
  let told = "";
  for await (const part of child.stdout) {
    told += Buffer.from(part).toString();
    if (told.includes("trusted")) child.kill();
  }
  const faults = await child.stderr.text();
  const isGreeted = told.includes("trusted");
  if (!isGreeted && !/cert|SSL_ERROR|PR_END_OF_FILE|PR_CONNECT_RESET/i.test(faults + told)) throw new Error(`tstclnt: ${faults}`);
  return isGreeted;
}

export async function newDatabase(database: string, password = "") {
  mkdirSync(database, { recursive: true });
  const file = `${database}.password`;
  writeFileSync(file, `${password}\n`);
  const withPassword = password === "" ? [] : ["-f", file];
  await run("certutil", database, ["-N", ...(password === "" ? ["--empty-password"] : withPassword)]);
  const certutil = (args: string[], input?: string) => run("certutil", database, [...args, ...withPassword], input);

  return {
    certutil,
    add: (name: string, trust: string, pem: string) => certutil(["-A", "-n", name, "-t", trust, "-a"], pem),
    /** Every nickname with its trust, and every private key. */
    async list() {
      const [certificates, keys] = [await certutil(["-L"]), await certutil(["-K"])];
      const rows = [...certificates.matchAll(/^(.*\S) +([a-zA-Z]*,[a-zA-Z]*,[a-zA-Z]*) *$/gm)].map(([, name, trust]) => `${name} ${trust}`);
      return [...rows, ...[...keys.matchAll(/^<.*> \w+ +(\w+) +(.*)$/gm)].map(([, , name]) => `key ${name}`)].toSorted();
    },
    /** Whether NSS accepts the server with what lies in the database, and the server NSS, with a client's certificate of that nickname. */
    trusts: (port: number, client?: string) =>
      greets(["-h", "127.0.0.1", "-p", String(port), "-d", `sql:${database}`, ...(password === "" ? [] : ["-W", file]), ...(client ? ["-n", client] : [])]),
  };
}

/** The owner of a file and its mode, as ls shows them. */
export const ownerOf = async (directory: string, name: string) => (await runs(["stat", "-c", "%U %a", join(directory, name)])).stdout.trim();
