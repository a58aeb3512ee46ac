import { arrayOf, type Pool } from "#db/connect";
import { MAX_LABELS } from "#labels/labels";
import { auditMany, type Scope } from "#modules/people/audit/queries";
import { lockFleet } from "./fleet-lock";
import { hasPoliciesOn, queueRelabelled } from "./relabelled";

type Labels = Record<string, string>;
/** The agents to label: those with these ids, or those that have these labels. */
export type Choice = { agentIds: string[] } | { selector: Labels };
type Change = { set: Labels; unset: string[]; isDryRun: boolean };
type Report = { json: string; overfull: string | null };

/** Bytes of a label in jsonb, its name and value apart. */
const LABEL_BYTES = 8;

/** Labels many agents at once, all or none: none when one of them, `overfull`, would have too many labels. */
export async function updateLabels(sql: Pool, scope: Scope, choice: Choice, { set, unset, isDryRun }: Change): Promise<Report> {
  const { organizationId } = scope;
  const ids = "agentIds" in choice ? arrayOf(choice.agentIds) : "{}";
  const isChosen = "agentIds" in choice ? sql`id = any(${ids}::uuid[])` : sql`labels @> ${JSON.stringify(choice.selector)}::jsonb`;
  const merged = sql`labels || ${JSON.stringify(set)}::jsonb`;
  const wanted = unset.length > 0 ? sql`(${merged}) - ${arrayOf(unset)}::text[]` : merged;
  const absent = "agentIds" in choice ? sql`select unnest(${ids}::uuid[]) except select id from judged` : sql`select null limit 0`;
  const details = JSON.stringify({ ...(Object.keys(set).length > 0 && { set }), ...(unset.length > 0 && { unset }) });
  const [, , [report]] = await sql.begin((tx) =>
    Promise.all([
      // A plan kept from when there were few agents takes half a minute over ten thousand. The trigger need not queue them one by one.
      tx`select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('certitude.queues_relabelled', 'on', true)`,
      lockFleet(tx, organizationId),
      tx<Report[]>`
        -- the chosen agents, with the labels that they are to have
        with judged as materialized (
          select id, wanted, wanted <> labels as differs from (
            select id, labels, ${wanted} as wanted
            from agents where organization_id = ${organizationId} and ${isChosen} offset 0) as chosen),
        -- the first agent that would have too many labels, looked for among those whose labels are large: each takes eight bytes and more
        overfull as (
          select id from judged
          where differs and pg_column_size(wanted) > ${LABEL_BYTES * MAX_LABELS} and jsonb_array_length(jsonb_path_query_array(wanted, '$.*')) > ${MAX_LABELS} order by id limit 1),
        -- writes the labels, unless an agent would have too many or it is a dry run
        changed as (
          update agents set labels = wanted, version = version + 1, updated_at = now() from judged
          where organization_id = ${organizationId} and agents.id = judged.id and differs and not ${isDryRun}::boolean and not exists (select from overfull)
          returning agents.id),
        -- puts them into the queue of those that policies are to review, where that may matter to a policy
        queued as (${queueRelabelled(tx, organizationId, tx`select id from changed where ${hasPoliciesOn(tx, organizationId, [...Object.keys(set), ...unset])}`)}),
        -- an audit event for each changed agent
        audited as (${auditMany(tx, scope, "agent.labels-updated", tx`select id, ${details}::jsonb from changed`)})
        select (select id from overfull) as overfull, json_build_object('matched', count(*), 'updated', count(*) filter (where differs), 'notFound', (
          select coalesce(json_agg(id), '[]') from (${absent}) as absent (id)))::text as json from judged`,
    ]),
  );
  if (!report) throw new Error("a change of labels reported nothing");
  return report;
}
