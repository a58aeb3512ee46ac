import { arrayOf, type Sql } from "#db/connect";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { Account } from "../rules/progress";

type Issuer = { organizationId: string; id: string };
type Request = { organizationId: string; issuerId: string; requestId: string };

const byServer = ({ organizationId }: Issuer): Scope => ({ organizationId, actor: { type: "server" }, requestId: null });

/** Keeps an issuer's account; null forgets it. */
export async function saveAccount(sql: Sql, issuer: Issuer, account: Account | null) {
  const saved = account === null ? null : JSON.stringify(account);
  await sql`
    with saved as (
      update issuers set account = ${saved}::text::jsonb where organization_id = ${issuer.organizationId} and id = ${issuer.id} returning id)
    ${audit(sql, byServer(issuer), "issuer.account-changed", sql`select id, jsonb_build_object('url', ${account?.url ?? null}::text) from saved`)}`;
}

type NewKey = { names: string[]; sealed: Buffer | null; account: Account };

/** Makes another key an account's. */
export async function changeKey(sql: Sql, issuer: Issuer, { names, sealed, account }: NewKey) {
  await sql`
    with changed as (
      update issuers set secret_names = ${JSON.stringify(names)}::text::jsonb, sealed_secrets = ${sealed}::bytea, account = ${JSON.stringify(account)}::text::jsonb,
        version = version + 1, updated_at = now()
      where organization_id = ${issuer.organizationId} and id = ${issuer.id} returning id)
    ${audit(sql, byServer(issuer), "issuer.account-key-changed", sql`select id, jsonb_build_object('url', ${account.url}::text) from changed`)}`;
}

/** Notes in a request's progress that its order is about to be made. Returns whether it said so before. */
export async function beginOrder(sql: Sql, { organizationId, requestId }: Request) {
  const isIt = sql`organization_id = ${organizationId} and id = ${requestId}`;
  const [row] = await sql<{ isRepeated: boolean }[]>`
    with before as (select organization_id, id, progress ? 'begun' as is_repeated from certificate_requests where ${isIt} for update),
    noted as (update certificate_requests set progress = progress || '{"begun": true}' where ${isIt} and progress is not null)
    select is_repeated as "isRepeated" from before`;
  return row?.isRepeated ?? false;
}

/** Returns those of these orders that no other request of the issuer has. */
export async function findUnclaimed(sql: Sql, { organizationId, issuerId, requestId }: Request, orderUrls: string[]) {
  const rows = await sql<{ url: string }[]>`
    select url from unnest(${arrayOf(orderUrls)}::text[]) as url where not exists (
      select from certificate_requests
      where organization_id = ${organizationId} and issuer_id = ${issuerId} and id <> ${requestId} and progress->>'orderUrl' = url)`;
  return rows.map(({ url }) => url);
}
