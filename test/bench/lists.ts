import { connectDatabase, type Sql } from "#db/connect";
import { listCertificates } from "#modules/certificates/certificates/queries/list";
import { readFilter } from "#modules/certificates/certificates/schema/query";
import { inDatabase } from "./database";
import { measurePlans } from "./plan";
import { seed } from "./seed";

const HELP = `bun run bench:lists [--quick]

What does the list of certificates cost for each of its filters, in an organization of a million? Prints the time of the first page and of
one in the middle, beside the list without a filter, and the most rows that any step of the plan saw. Needs a Postgres: TEST_DATABASE_URL,
or the local one. It makes a database of its own there and drops it at the end.

  --quick   50,000 certificates instead of a million`;

const SIZE = Bun.argv.includes("--quick") ? 50_000 : 1_000_000;
/** As many active owners, and as many who have left; each of these has a hundred certificates. */
const [OWNERS, LEAVERS] = [500, 20];

if (Bun.argv.includes("--help")) console.info(HELP);
else await inDatabase("lists", ({ url }) => bench(url));

async function bench(url: string) {
  const [organization] = await seed(url, [SIZE]);
  if (!organization) throw new Error("the seed made no organization");
  const { $client: sql } = connectDatabase(url, { max: 1, statementTimeout: 0, silence: 0 });
  await note(sql, organization.id);
  const [sample] = await sql<{ issuer: string; fingerprint: string; serial: string; middle: string }[]>`
    select issuer, fingerprint_sha256 as fingerprint, facts->>'serialNumber' as serial, (select iso(percentile_disc(0.5) within group (order by not_after)) from certificates) as middle
    from certificates where id = ${organization.certificateId}`;
  if (!sample) throw new Error("the seed made no certificate");
  const { middle, ...exact } = sample;
  const filters = [
    {},
    { owner: ownerOf(1) },
    { owner: "none" },
    { owner: ownerOf(OWNERS + 1) },
    { selector: "env=prod" },
    { selector: "env=test" },
    { selector: "env" },
    { selector: "env in (prod,test)" },
    { selector: "app=payments" },
    { selector: "env=prod,app=payments" },
    { selector: "tier=edge,env!=prod" },
    { selector: "env=prod,!tier" },
    { selector: "!tier" },
    { owner: "none", selector: "env=prod" },
    { owner: "none", selector: "app=payments" },
    { owner: ownerOf(1), selector: "env=prod" },
    { owner: ownerOf(1), selector: "tier=edge" },
    ...Object.entries(exact).map(([name, value]) => ({ [name]: value })),
    { issuer: exact.issuer, selector: "env=test" },
    { status: "revoked" as const, issuer: exact.issuer },
    { status: "retired" as const, selector: "env=prod" },
    { q: "globalsign", selector: "env=prod" },
    { q: "globalsign" },
  ];
  const bare = { first: 0, middle: 0 };
  for (const asked of filters) {
    const filter = readFilter(asked);
    if ("invalid" in filter) throw new Error(filter.invalid);
    const at = async (after: [string, string] | undefined) =>
      measurePlans(url, (one) => listCertificates(one, organization.id, filter, { limit: 20, after }, new Date()));
    const [first, later] = [await at(undefined), await at([middle, organization.id])];
    if (Object.keys(asked).length === 0) Object.assign(bare, { first: first.ms, middle: later.ms });
    const received = [first, later].map(
      ({ ms, rows }, index) => `${ms.toFixed(2)} ms (× ${(ms / (index ? bare.middle : bare.first)).toFixed(1)}, ${rows} rows)`,
    );
    console.info(`${(JSON.stringify(asked) as string).slice(0, 70).padEnd(72)} first page ${received[0]}; in the middle ${received[1]}`);
  }
  await sql.end();
}

function ownerOf(n: number) {
  return `018f0000-0000-7000-9000-${String(n).padStart(12, "0")}`;
}

/** Ten have no owner, each of the leavers a hundred, the active ones the rest; nine in ten are of production, twelve of an application. */
async function note(sql: Sql, organizationId: string) {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select indexname as name, indexdef as definition from pg_indexes where tablename = 'certificates' and indexname not like '%pk'`;
  for (const { name } of indexes) await sql.unsafe(`drop index "${name}"`);
  await sql`insert into users (id, email) select ('018f0000-0000-7000-9000-' || lpad(n::text, 12, '0'))::uuid, n || '@people.example' from generate_series(1, ${OWNERS}::int) n`;
  await sql`insert into members (organization_id, id, user_id, email, role, status)
    select ${organizationId}, id, id, email, 'ORG_MEMBER', 'active' from users where id <> '018f0000-0000-7000-8000-000000999999'`;
  await sql`alter table certificates disable trigger user`;
  await sql`
    update certificates set labels = jsonb_build_object('env', case when n % 10 = 0 then 'test' else 'prod' end)
        || case when n % 1000 = 0 then '{"tier": "edge"}'::jsonb else '{}' end || case when n > ${SIZE - 12}::int then '{"app": "payments"}'::jsonb else '{}' end,
      owner_id = case when n > 10 then ('018f0000-0000-7000-9000-' || lpad((case when n <= 10 + 100 * ${LEAVERS}::int then ${OWNERS}::int + 1 + n % ${LEAVERS}::int else 1 + n % ${OWNERS}::int end)::text, 12, '0'))::uuid end
    from (select id as numbered, row_number() over (order by id) as n from certificates where organization_id = ${organizationId}) as numbers
    where organization_id = ${organizationId} and id = numbered`;
  await sql`
    insert into certificate_labels (organization_id, key, value, not_after, certificate_id)
    select organization_id, entry.key, entry.value, not_after, id from certificates cross join lateral label_entries(labels) as entry`;
  await sql`alter table certificates enable trigger user`;
  for (const { definition } of indexes) await sql.unsafe(definition);
  await sql`vacuum (analyze)`;
}
