import type { Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";
import { DEFAULT_POLICY } from "../rules";

export type Ended = { organizationId: string; certificateId: string; isRenewed: boolean };

/**
 * Records the ends of states of certificates, and renewals for those who had a notice. Of a revocation or retirement its own cause records
 * an event.
 */
export async function recordExpiryEnds(tx: Sql, ended: Ended[], now: Date) {
  const at = now.toISOString();
  await tx`
    with ended as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(ended)}::text::jsonb) as given ("organizationId" uuid, "certificateId" uuid, "isRenewed" boolean)),
    renewed as (${recordEvents(
      tx,
      "certificate_renewed",
      tx`
      select w.organization_id, w.certificate_id, jsonb_build_object('commonName', c.common_name, 'notAfter', iso(renewal.not_after)), owner.user_id,
        case when owner.user_id is null or exists (
          select from expiry_reminders r where r.organization_id = w.organization_id and r.certificate_id = w.certificate_id and r.addressee = ${MIN_UUID})
        then coalesce(policy.role, ${DEFAULT_POLICY.role}) end
      from ended join expiry_watch w on w.organization_id = "organizationId" and w.certificate_id = "certificateId"
        join certificates c on c.organization_id = w.organization_id and c.id = w.certificate_id
        left join members as owner on owner.organization_id = c.organization_id and owner.user_id = c.owner_id and owner.status = 'active'
        left join expiry_policies as policy on policy.organization_id = w.organization_id
        -- of the same names, or the successor of a rotation
        cross join lateral (
          select max(not_after) as not_after from (
            (select o.not_after from expiry_watch o join certificates later on later.organization_id = o.organization_id and later.id = o.certificate_id
            where o.organization_id = w.organization_id and o.names_hash = w.names_hash and o.not_after > w.not_after and later.status = 'active' and later.not_before <= ${at}
            order by o.not_after desc limit 1)
            union all
            select successor.not_after from rollouts r join certificates successor on successor.organization_id = r.organization_id and successor.id = r.certificate_id
            where r.organization_id = w.organization_id and r.predecessor_id = w.certificate_id and r.status = 'completed') as each) as renewal
      where "isRenewed"`,
    )})
    ${recordEnds(tx, "certificate_expiring", tx`select "organizationId", "certificateId" from ended where not "isRenewed"`)}`;
}
