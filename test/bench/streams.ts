import { readFile } from "node:fs/promises";
import { connectDatabase, MAINTENANCE, type Pool } from "#db/connect";
import { migrate } from "#db/migrate";
import { recordEvents } from "#modules/notifications/events/queries/record";
import { readInbox } from "#modules/notifications/inbox/queries";
import { cpuOf } from "./cpu";
import { inDatabase, type Workplace } from "./database";
import { compare, http, pgbench, ratio } from "./measure";
import { pidOf, signToken, startCertitude } from "./processes";
import { capture } from "./statement";

const HELP = `bun run bench:streams [--quick]

What do 2,000 open streams of notices take, two of each of 1,000 users: memory of each, CPU while nothing comes, and how long it is
until a notice to all members has reached every one? And a page of the inbox (operation 19) with 1,000,000 notices of 1,000 users:
requests a second, next to the bare statement in pgbench. Needs wrk, pgbench and a Postgres on this machine: TEST_DATABASE_URL, or
the local one. It makes a database of its own there and drops it.

  --quick   200 streams of 100 users, 10,000 notices`;

const IS_QUICK = Bun.argv.includes("--quick");
const USERS = IS_QUICK ? 100 : 1_000;
const STREAMS = 2 * USERS;
const NOTICES_EACH = USERS;
const SECONDS = IS_QUICK ? 2 : 8;
const ORGANIZATION = crypto.randomUUID();

if (Bun.argv.includes("--help")) console.info(HELP);
else await inDatabase("streams", bench);

async function bench({ url, directory }: Workplace) {
  const sql = connectDatabase(url, MAINTENANCE).$client;
  const users = await seed(sql);
  const tokens = await Promise.all(users.map(signToken));
  const server = await startCertitude({ DATABASE_URL: url, DATA_DIR: directory, LOG_LEVEL: "warn" });
  await measureStreams(sql, server, tokens);
  await measureInbox({ url, directory }, server, users, tokens);
  await sql.end();
}

async function seed(sql: Pool) {
  await migrate(sql);
  const users = Array.from({ length: USERS }, () => crypto.randomUUID());
  await sql`insert into organizations (id, name) values (${ORGANIZATION}, 'streams')`;
  const ids = sql`jsonb_array_elements_text(${JSON.stringify(users)}::text::jsonb) as given (id)`;
  await sql`insert into users (id) select id::uuid from ${ids}`;
  await sql`
    insert into members (organization_id, id, user_id, email, role, status)
    select ${ORGANIZATION}, new_id(), id::uuid, id || '@people.example', 'ORG_MEMBER', 'active' from ${ids}`;
  await sql`insert into inboxes (user_id, total, unread) select id::uuid, ${NOTICES_EACH}, ${NOTICES_EACH} from ${ids}`;
  await sql`
    insert into notices (user_id, position, id, organization_id, kind, title, message)
    select id::uuid, n, new_id(), ${ORGANIZATION}, 'member_joined', 'Ada is a member now', 'Ada accepted the invitation.' from generate_series(1, ${NOTICES_EACH}::int) as n, ${ids}`;
  await sql`vacuum (analyze)`;
  return users;
}

async function measureStreams(sql: Pool, server: string, tokens: string[]) {
  const pid = pidOf(server);
  for (const token of tokens) await fetch(`${server}/users/me/notifications/inbox`, { headers: { authorization: `Bearer ${token}` } });
  const before = await memoryOf(pid);
  const streams = await Promise.all(Array.from({ length: STREAMS }, (_, index) => openStream(server, tokens[index % USERS] ?? "")));
  await Bun.sleep(3_000);
  const open = await memoryOf(pid);
  print("streams, KiB of memory for each", `${STREAMS}`, ((open - before) / STREAMS).toFixed(1));
  const idle = await cpuMs(pid);
  await Bun.sleep(10_000);
  print("CPU of the server while nothing comes, ms each second", (((await cpuMs(pid)) - idle) / 10).toFixed(1));
  const busy = await cpuMs(pid);
  const sentAt = performance.now();
  await sql`${recordEvents(sql, "member_joined", sql`select ${ORGANIZATION}::uuid, gen_random_uuid(), '{"name": "Grace", "role": "ORG_MEMBER"}'::jsonb, null::uuid, 'ORG_MEMBER'::member_role`)}`;
  const arrivals = (await Promise.all(streams.map(({ notice }) => notice))).map((at) => at - sentAt).toSorted((a, b) => a - b);
  print("ms until a notice has reached the first, half, all", ...[0, STREAMS / 2, STREAMS - 1].map((index) => (arrivals[index] ?? 0).toFixed(0)));
  print("CPU of the server for that, ms", ((await cpuMs(pid)) - busy).toFixed(0));
  for (const { close } of streams) close();
}

/** A stream that a client reads; `notice` is when the next notice has come. */
async function openStream(server: string, token: string) {
  const { hostname, port } = new URL(server);
  const [ready, notice] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()];
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, bytes) {
        const text = bytes.toString("latin1");
        if (text.includes("retry:")) ready.resolve();
        if (text.includes("event: notice")) notice.resolve(performance.now());
      },
      close: () => ready.reject(new Error("a stream was closed")),
    },
  });
  socket.write(`GET /users/me/notifications/stream HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await ready.promise;
  return { notice: notice.promise, close: () => socket.end() };
}

async function measureInbox({ url, directory }: Workplace, server: string, users: string[], tokens: string[]) {
  const script = `${directory}/users.lua`;
  await Bun.write(
    script,
    `local tokens = { ${tokens.map((token) => `"${token}"`).join(", ")} }
     function request() return wrk.format("GET", nil, { authorization = "Bearer " .. tokens[math.random(#tokens)] }) end`,
  );
  const statement = await capture(url, (sql) => readInbox(sql, users[0] ?? "", { page: 0, limit: 10, unread: false }));
  const contestants = {
    inbox: http(`${server}/users/me/notifications/inbox`, {}, SECONDS, script),
    pgbench: pgbench(url, statement, `${directory}/inbox.sql`, SECONDS),
  };
  const { inbox, pgbench: bare } = await compare(contestants, 16, 3);
  print("inbox of any of the users, requests a second", ...inbox.map((rate) => rate.toFixed(0)));
  print("the bare statement, of one user", ...bare.map((rate) => rate.toFixed(0)));
  print("… as a part of it", ratio(inbox, bare).toFixed(2));
}

async function cpuMs(pid: number) {
  return (await cpuOf([pid])) * 1_000;
}

async function memoryOf(pid: number) {
  const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes);
}

function print(title: string, ...numbers: string[]) {
  console.info(title.padEnd(58) + numbers.map((each) => each.padStart(10)).join(""));
}
