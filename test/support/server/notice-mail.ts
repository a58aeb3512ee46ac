import type { NoticeKind } from "#modules/notifications/events/rules/kinds";
import { mailDigests } from "#modules/notifications/mail/services/digests";
import { addEvent, dispatch } from "./dispatching";
import { startMailServer } from "./mail-server";
import { startMailing } from "./mailing";
import { newOrganization } from "./people";
import { world } from "./world";

type Behaviour = Parameters<typeof startMailServer>[0];
type Person = { email: string; call: (method: string, path: string, wish?: object) => Promise<{ body: unknown }> };

const PREFERENCES = "/users/me/notifications/preferences";
/** An event of a kind that is mailed daily: the rollout of that name has finished. */
export const finished = (name: string) => ({ kind: "rollout_finished" as const, facts: { name }, role: "ORG_ADMIN" as const });

/** A mail server, and a server that dispatches events and mails them. */
export async function startNoticeMail(behaviour: Behaviour = {}) {
  const mailServer = await startMailServer(behaviour);
  const server = await startMailing(mailServer.url);
  async function stop() {
    await server.stop();
    await mailServer.stop();
    for (const table of ["mails", "digests", "digest_notices"]) await world.sql.unsafe(`delete from ${table}`);
    await world.sql`delete from pgboss.job where name like 'send-mail%'`;
  }
  const mailsTo = ({ email }: { email: string }) =>
    mailServer.received.filter(({ to }) => to === email).map((mail) => ({ ...mail, text: mail.text.replaceAll("\r\n", "\n") }));

  /** Waits until every mail is sent, given up or withdrawn. */
  async function settled() {
    while ((await world.sql`select from mails`).length > 0) await Bun.sleep(20);
  }
  /** One turn of the job that mails digests. */
  const digest = (at: Date) => mailDigests({ ...server.deps, clock: () => at }, new AbortController().signal);
  return { mailServer, server, stop, mailsTo, settled, digest, dispatch: (at = new Date()) => dispatch(at, server.deps) };
}

/** A header of a mail, such as `Subject`. */
export const headerOf = (mail: { headers: string } | undefined, name: string) => new RegExp(`^${name}: (.+)$`, "im").exec(mail?.headers ?? "")?.[1];

export const prefer = ({ call }: Person, body: object) => call("PATCH", PREFERENCES, { body });
export const preferMail = (person: Person, kind: NoticeKind, frequency: string) => prefer(person, { mail: { [kind]: frequency } });
export const preferencesOf = async ({ call }: Person) => (await call("GET", PREFERENCES)).body as { mail: Record<NoticeKind, string>; version: number };

/** An organization with an admin and a member. */
export async function newTeam() {
  const organization = await newOrganization();
  const [admin, member] = [await organization.join("ORG_ADMIN"), await organization.join("ORG_MEMBER")];
  /** The certificate was revoked: every member is notified, unless only the admins are. */
  const revoke = (commonName: string, wish: { subjectId?: string; role?: "ORG_ADMIN" | "ORG_MEMBER"; userId?: string } = {}) =>
    addEvent(organization.id, { kind: "certificate_revoked", facts: { commonName, reason: "keyCompromise" }, ...wish });
  return { organization, admin, member, revoke };
}
