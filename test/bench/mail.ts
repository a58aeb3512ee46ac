import { readFile } from "node:fs/promises";
import { createKeyring } from "#crypto/keyring";
import { connectDatabase } from "#db/connect";
import { migrate } from "#db/migrate";
import { createQueue } from "#jobs/queue";
import { mailFailed, mailing } from "#jobs/send-mail";
import { createLog } from "#log/log";
import { enqueueMail } from "#mail/outbox";
import { startMailServer } from "../support/server/mail-server";
import { inDatabase, type Workplace } from "./database";
import { pidOf, startCertitude } from "./processes";

const HELP = `bun run bench:mail [--quick]

How long do 10,000 mails take that wait when the server starts, over how many connections, and how much memory does the server
use at most? The mail server is a real one in this process, and takes each mail at once. Needs a Postgres on this machine:
TEST_DATABASE_URL, or the local one. It makes a database of its own there and drops it.

  --quick   500 mails`;

const MAILS = Bun.argv.includes("--quick") ? 500 : 10_000;
const HOUR = 3_600_000;

if (Bun.argv.includes("--help")) console.info(HELP);
else await inDatabase("mail", bench);

async function bench({ url, directory }: Workplace) {
  await seed(url);
  const mailServer = await startMailServer();
  const startedAt = performance.now();
  const server = await startCertitude({
    DATABASE_URL: url,
    DATA_DIR: directory,
    LOG_LEVEL: "warn",
    SMTP_URL: mailServer.url,
    MAIL_FROM: "certitude@example.org",
    PUBLIC_URL: "https://certitude.example",
  });
  await mailServer.has(MAILS);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { most, all } = mailServer.connections();
  print("mails sent, of which different", `${mailServer.received.length}`, `${new Set(mailServer.received.map(({ to }) => to)).size}`);
  print("seconds from the server's start, mails each second", seconds.toFixed(1), (MAILS / seconds).toFixed(0));
  print("connections at once, in all", `${most}`, `${all}`);
  print("memory of the server at most, MiB", `${await peakOf(pidOf(server))}`);
}

async function seed(url: string) {
  const db = connectDatabase(url, { max: 2, statementTimeout: 0, silence: 0 });
  const sql = db.$client;
  await migrate(sql);
  const queue = createQueue({ sql, log: createLog("warn") });
  await queue.start([mailFailed, mailing]);
  const services = { keyring: createKeyring([Buffer.alloc(32)]), queue }; // the key of `startCertitude`
  const organizationId = crypto.randomUUID();
  const expiresAt = new Date(Date.now() + HOUR).toISOString();
  await sql.begin(async (tx) => {
    for (let index = 0; index < MAILS; index++) {
      const cause = { kind: "invitation" as const, organizationId, memberId: crypto.randomUUID() };
      const mail = { to: { name: "", address: `user-${index}@people.example` }, subject: "Hello", body: ["Hello"] };
      await enqueueMail(tx, services, { id: Bun.randomUUIDv7(), cause, mail, expiresAt });
    }
  });
  await queue.stop();
  await sql.end();
}

async function peakOf(pid: number) {
  const [, kibibytes] = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kibibytes) / 1_024);
}

function print(title: string, ...numbers: string[]) {
  console.info(title.padEnd(54) + numbers.map((each) => each.padStart(10)).join(""));
}
