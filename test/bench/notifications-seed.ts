import { connectDatabase, MAINTENANCE, type Pool } from "#db/connect";
import { recountReads } from "#modules/notifications/inbox/queries";
import { withoutIndexes } from "./issuance-seed";

/** Of each 1,000 events, so many are still to be dispatched; the others came in notifications of so many. */
const [PENDING, EACH] = [10, 4];
const [USERS, ROUTES, CHANNELS] = [200, 20, 5];

/** Adds to the first organization of a database so many events, notices and deliveries, and a fifth as many states that stand. */
export async function seedNotifications(url: string, size: number) {
  const sql = connectDatabase(url, MAINTENANCE).$client;
  const [{ id } = { id: "" }] = await sql<{ id: string }[]>`select id from organizations order by id limit 1`;
  await insertPeople(sql, id);
  await insertRoutes(sql, id);
  for (const [table, fill] of Object.entries(FILLING)) await withoutIndexes(sql, table, () => fill(sql, id, size));
  await sql`
    insert into inboxes (user_id, total, unread, read_up_to)
    select user_id, count(*), count(*) filter (where read_at is null and position > ${size / USERS / 2}), ${size / USERS / 2} from notices group by user_id`;
  await sql.begin(recountReads);
  await sql`vacuum (analyze)`;
  await sql.end();
}

async function insertPeople(sql: Pool, organizationId: string) {
  const users = sql`(select ('018f0000-0000-7000-b000-' || lpad(n::text, 12, '0'))::uuid as id, n from generate_series(1, ${USERS}::int) as n) as person`;
  await sql`insert into users (id, email) select id, n || '@notices.example' from ${users}`;
  await sql`
    insert into members (organization_id, id, user_id, email, role, status)
    select ${organizationId}, id, id, n || '@notices.example', case when n % 10 = 0 then 'ORG_ADMIN' else 'ORG_MEMBER' end::member_role, 'active' from ${users}`;
  await sql`insert into digests (user_id, due_at) select id, now() - n * interval '1 second' from ${users} where n % 2 = 0`;
}

async function insertRoutes(sql: Pool, organizationId: string) {
  await sql`
    insert into notification_routes (organization_id, id, name, connection_id)
    select ${organizationId}, ('018f0000-0000-7000-c000-' || lpad(n::text, 12, '0'))::uuid, 'Route ' || n, ('018f0000-0000-7000-d000-' || lpad((n % ${CHANNELS})::text, 12, '0'))::uuid
    from generate_series(1, ${ROUTES}::int) as n`;
  await sql`
    insert into notification_channels (organization_id, connection_id, due_at, failures, failing_since)
    select ${organizationId}, ('018f0000-0000-7000-d000-' || lpad(n::text, 12, '0'))::uuid, now(), n % 2, case when n % 2 = 1 then now() - interval '2 days' end
    from generate_series(0, ${CHANNELS - 1}::int) as n`;
}

const certificate = (sql: Pool) => sql`('018f' || lpad(to_hex(n % 200000 + 1), 8, '0') || '70008000000000000000')::uuid`;
const numbered = (sql: Pool, kind: string) => sql.text(`('018f' || lpad(to_hex(n), 8, '0') || '7000${kind}000000000000000')::uuid`);

type Fill = (sql: Pool, organizationId: string, size: number) => Promise<unknown>;

const FILLING: Record<string, Fill> = {
  notification_events: (sql, organizationId, size) => sql`
    insert into notification_events (organization_id, id, kind, subject_id, data, created_at, told_at, notification_id)
    select ${organizationId}, ${numbered(sql, "9")}, case when n % 2 = 0 then 'certificate_expiring' else 'certificate_issued' end, ${certificate(sql)},
      jsonb_build_object('commonName', 'www.example.org', 'notAfter', now()), now() - (${size}::int - n) * interval '8 seconds',
      case when n <= ${size}::int - ${size}::int * ${PENDING}::int / 1000 then now() end,
      case when n <= ${size}::int - ${size}::int * ${PENDING}::int / 1000 then ('018f' || lpad(to_hex(n / ${EACH}), 8, '0') || '7000a000000000000000')::uuid end
    from generate_series(1, ${size}::int) as n`,
  notifications: (sql, organizationId, size) => sql`
    insert into notifications (organization_id, id, kind, severity, title, message, data, subjects)
    select ${organizationId}, ${numbered(sql, "a")}, 'certificate_expiring', 'warning', 'A certificate expires', 'It does.', '{}', ${EACH}
    from generate_series(0, ${size}::int / ${EACH}) as n`,
  alerts: (sql, organizationId, size) => sql`
    insert into alerts (organization_id, condition, subject_id, state, until)
    select ${organizationId}, 'certificate expiry', ${certificate(sql)}, (case when n % 100 = 0 then 'snoozed' when n % 2 = 0 then 'open' else 'cleared' end)::alert_state,
      case when n % 100 = 0 then now() + (n % 50000 - 5000) * interval '1 second' end
    from generate_series(1, least(200000, ${size}::int)) as n`,
  notices: (sql, organizationId, size) => sql`
    insert into notices (user_id, position, id, organization_id, kind, title, message, notification_id, state, read_at)
    select ('018f0000-0000-7000-b000-' || lpad((n % ${USERS} + 1)::text, 12, '0'))::uuid, n / ${USERS} + 1, ${numbered(sql, "b")}, ${organizationId}, 'certificate_expiring',
      'A certificate expires', 'It does.', ('018f' || lpad(to_hex(n / ${EACH}), 8, '0') || '7000a000000000000000')::uuid,
      (case when n % 5 = 0 then 'open' else 'cleared' end)::alert_state, case when n % 3 = 0 then now() end
    from generate_series(0, ${size}::int - 1) as n`,
  digest_notices: (sql, _, size) => sql`
    insert into digest_notices (user_id, notice_id) select user_id, id from notices where position > ${size / USERS}::float8 * 0.9`,
  notification_deliveries: (sql, organizationId, size) => sql`
    insert into notification_deliveries (organization_id, id, route_id, connection_id, content, incident_key, state, next_attempt_at, created_at, ended_at)
    select ${organizationId}, ${numbered(sql, "c")}, ('018f0000-0000-7000-c000-' || lpad((n % ${ROUTES} + 1)::text, 12, '0'))::uuid,
      ('018f0000-0000-7000-d000-' || lpad(((n % ${ROUTES} + 1) % ${CHANNELS})::text, 12, '0'))::uuid, '{"kind": "certificate_expiring", "title": "A certificate expires"}',
      'incident ' || n % 50000, (case when n % 100 = 0 then 'pending' when n % 50 = 1 then 'failed' else 'delivered' end)::delivery_state,
      case when n % 100 = 0 then now() end, now() - (${size}::int - n) * interval '7.5 seconds', case when n % 100 > 0 then now() end
    from generate_series(1, ${size}::int) as n`,
  notification_incidents: (sql, organizationId, size) => sql`
    insert into notification_incidents (organization_id, condition, subject_id, connection_id, key, route_id)
    select ${organizationId}, 'certificate expiry', ${certificate(sql)}, ('018f0000-0000-7000-d000-' || lpad((n % ${CHANNELS})::text, 12, '0'))::uuid, 'incident ' || n % 50000,
      ('018f0000-0000-7000-c000-' || lpad((n % ${ROUTES} + 1)::text, 12, '0'))::uuid
    from generate_series(1, least(200000, ${size}::int)) as n`,
};
