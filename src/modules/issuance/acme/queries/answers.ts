import type { Sql } from "#db/connect";

type Request = { organizationId: string; requestId: string };
type Answer = Request & { token: string; keyAuthorization: string; expiresAt: Date };

/** Keeps what is answered for a token. Returns false where another request has the token. What has expired of the organization goes. */
export async function keepAnswer(sql: Sql, { organizationId, requestId, token, keyAuthorization, expiresAt }: Answer) {
  const [row] = await sql<{ token: string }[]>`
    with expired as (delete from acme_http_answers where organization_id = ${organizationId} and expires_at < now() and token <> ${token})
    insert into acme_http_answers as answers (token, organization_id, request_id, key_authorization, expires_at)
    values (${token}, ${organizationId}, ${requestId}, ${keyAuthorization}, ${expiresAt.toISOString()})
    on conflict (token) do update set key_authorization = excluded.key_authorization, expires_at = excluded.expires_at
      where answers.organization_id = excluded.organization_id and answers.request_id = excluded.request_id
    returning token`;
  return row !== undefined;
}

export async function forgetAnswer(sql: Sql, { organizationId, requestId, token }: Request & { token: string }) {
  await sql`delete from acme_http_answers where organization_id = ${organizationId} and request_id = ${requestId} and token = ${token}`;
}

/** Returns the key authorization that a token is answered with; undefined for one that no order waits for. */
export async function findAnswer(sql: Sql, token: string) {
  const [row] = await sql<{ keyAuthorization: string }[]>`
    select key_authorization as "keyAuthorization" from acme_http_answers where token = ${token} and expires_at > now()`;
  return row?.keyAuthorization;
}
