import type { Facts, Stamp, Stamps } from "#crypto/stamps";
import { arrayOf, type Sql } from "#db/connect";
import { standingJson } from "#modules/issuance/domains/queries";
import type { Standing } from "#modules/issuance/domains/rules";

type Request = { organizationId: string; requestId: string };
type Answer = Request & { token: string; keyAuthorization: string; name: string; domain: string; expiresAt: Date };

type AnswerFacts = Omit<Answer, "expiresAt"> & { expiresAt: string };

/** The facts of an answer that its stamp covers: it would prove control of the name for whatever account it says. */
export const answerFacts = (facts: AnswerFacts): Facts => ["http-answer", facts];
export const answerFactsJson = (sql: Sql) => sql`json_build_object('organizationId', organization_id, 'requestId', request_id, 'token', token,
  'keyAuthorization', key_authorization, 'name', name, 'domain', domain, 'expiresAt', iso(expires_at))`;

/** Keeps the answer for a token, and deletes expired ones of the organization. Returns false where another request has the token. */
export async function keepAnswer(sql: Sql, stamps: Stamps, answer: Answer) {
  const { organizationId, requestId, token, keyAuthorization, name, domain } = answer;
  const expiresAt = answer.expiresAt.toISOString();
  const stamp = stamps.of(answerFacts({ ...answer, expiresAt }));
  const [row] = await sql<{ token: string }[]>`
    with expired as (delete from acme_http_answers where organization_id = ${organizationId} and expires_at < now() and token <> ${token})
    insert into acme_http_answers as answers (token, organization_id, request_id, key_authorization, name, domain, expires_at, stamp)
    values (${token}, ${organizationId}, ${requestId}, ${keyAuthorization}, ${name}, ${domain}, ${expiresAt}, ${stamp}::bytea)
    on conflict (token) do update set key_authorization = excluded.key_authorization, name = excluded.name, domain = excluded.domain, expires_at = excluded.expires_at,
      stamp = excluded.stamp
      where answers.organization_id = excluded.organization_id and answers.request_id = excluded.request_id
    returning token`;
  return row !== undefined;
}

export async function forgetAnswer(sql: Sql, { organizationId, requestId, token }: Request & { token: string }) {
  await sql`delete from acme_http_answers where organization_id = ${organizationId} and request_id = ${requestId} and token = ${token}`;
}

/**
 * Returns the key authorization of a token, and whether it may be given to a client that asks by one of these names; undefined where no
 * order waits for the token.
 */
export async function findAnswer(sql: Sql, stamps: Stamps, token: string, names: string[]) {
  const [row] = await sql<
    { keyAuthorization: string; isForName: boolean; name: string; domain: string; standing: Standing; facts: AnswerFacts; stamp: Stamp }[]
  >`
    select key_authorization as "keyAuthorization", ${answerFactsJson(sql)} as facts, stamp,
      name = any(${arrayOf(names)}::text[]) or not exists (select from organizations where id <> answers.organization_id) as "isForName",
      name, domain, ${standingJson(sql, sql`answers.organization_id`, sql`answers.domain`)} as standing
    from acme_http_answers answers where token = ${token} and expires_at > now()`;
  return row && stamps.hold(row.stamp, answerFacts(row.facts)) ? row : undefined;
}
