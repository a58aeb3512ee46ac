import { arrayOf, type Sql } from "#db/connect";
import { isOtherHolder } from "#modules/issuance/domains/queries";

type Request = { organizationId: string; requestId: string };
type Answer = Request & { token: string; keyAuthorization: string; name: string; domain: string; expiresAt: Date };

/** Keeps what is answered for a token. Returns false where another request has the token. What has expired of the organization goes. */
export async function keepAnswer(sql: Sql, { organizationId, requestId, token, keyAuthorization, name, domain, expiresAt }: Answer) {
  const [row] = await sql<{ token: string }[]>`
    with expired as (delete from acme_http_answers where organization_id = ${organizationId} and expires_at < now() and token <> ${token})
    insert into acme_http_answers as answers (token, organization_id, request_id, key_authorization, name, domain, expires_at)
    values (${token}, ${organizationId}, ${requestId}, ${keyAuthorization}, ${name}, ${domain}, ${expiresAt.toISOString()})
    on conflict (token) do update set key_authorization = excluded.key_authorization, name = excluded.name, domain = excluded.domain, expires_at = excluded.expires_at
      where answers.organization_id = excluded.organization_id and answers.request_id = excluded.request_id
    returning token`;
  return row !== undefined;
}

export async function forgetAnswer(sql: Sql, { organizationId, requestId, token }: Request & { token: string }) {
  await sql`delete from acme_http_answers where organization_id = ${organizationId} and request_id = ${requestId} and token = ${token}`;
}

/**
 * Returns the key authorization of a token, and whether it may be given to who asks by one of these names: it proves that name alone, but
 * where the server has a single organization. Undefined where no order waits for the token, or the domain has come to another organization.
 */
export async function findAnswer(sql: Sql, token: string, names: string[]) {
  const [row] = await sql<{ keyAuthorization: string; isForName: boolean }[]>`
    select key_authorization as "keyAuthorization",
      name = any(${arrayOf(names)}::text[]) or not exists (select from organizations where id <> answers.organization_id) as "isForName"
    from acme_http_answers answers where token = ${token} and expires_at > now() and not ${isOtherHolder(sql, sql`answers.organization_id`, sql`answers.domain`)}`;
  return row;
}
