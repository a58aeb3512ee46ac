import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { MAINTENANCE, type Pool } from "#db/connect";
import { migrate } from "#db/migrate";
import { linkCertificates } from "#jobs/link-certificates";
import { certificate, chain, importInto } from "../support/pki/certificates";
import { applyFirst, migrationFiles } from "../support/server/migrations";
import { newOrganization } from "../support/server/people";
import { connectTo, startPostgres } from "../support/server/postgres";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let sql: Pool;

beforeAll(async () => {
  postgres = await startPostgres();
  sql = connectTo(postgres.url, MAINTENANCE).$client;
});
afterAll(async () => {
  await sql.end();
  await postgres.stop();
});

test("an upgrade links what lies unlinked, without an import", async () => {
  const organization = await newOrganization();
  const { root, intermediate, leaf } = chain();
  const impostor = certificate({ commonName: "Test Issuing CA", isCa: true });
  const unknown = certificate({ issuer: certificate({ commonName: "Elsewhere", isCa: true }) });
  const ids = await importInto(organization, root.pem, intermediate.pem, leaf.pem, impostor.pem, unknown.pem);
  const [rootId = "", intermediateId = "", leafId = "", impostorId = "", unknownId = ""] = ids;
  const [stored] = await world.sql`
    select json_agg(c)::text as rows from (select *, null as issuer_id from certificates where organization_id = ${organization.id}) as c`;

  const before = migrationFiles.findIndex((each) => each.name.endsWith("_pending_links"));
  await applyFirst(sql, before);
  await sql`insert into organizations (id, name) values (${organization.id}, 'Unlinked')`;
  await sql`insert into certificates select * from json_populate_recordset(null::certificates, ${stored?.rows ?? "[]"}::text::json)`;
  await sql`update certificates set issuer_id = null`;

  await migrate(sql);
  const pending = await sql<{ id: string }[]>`select certificate_id as id from pending_links`;
  expect(pending.map((each) => each.id).toSorted()).toEqual([intermediateId, leafId].toSorted());
  await linkCertificates({ sql })({}, new AbortController().signal);
  const links = await sql<{ id: string; issuer: string | null }[]>`select id, issuer_id as issuer from certificates`;
  expect(Object.fromEntries(links.map((each) => [each.id, each.issuer]))).toEqual({
    [rootId]: null,
    [intermediateId]: rootId,
    [leafId]: intermediateId,
    [impostorId]: null,
    [unknownId]: null,
  });
  expect(await sql`select from pending_links`).toHaveLength(0);
});
