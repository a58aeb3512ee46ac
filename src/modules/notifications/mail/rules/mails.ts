import { type Address, showLookAlikes } from "#mail/address";
import type { List, Mail } from "#mail/message";
import { kindOf, type NoticeKind } from "#modules/notifications/events/rules/kinds";

/** Lines of a mail, at most. */
const LINES = 50;
const RANKS = { critical: 0, warning: 1, info: 2 };

/** The addressee of a mail, the server to which its links lead, and the link that ends such mails. */
export type Addressing = { to: Address; publicUrl: string; unsubscribeUrl: string };
type Organization = { id: string; name: string };

/** A notification that is mailed by itself, and its subjects. */
export type MailedNotification = {
  kind: NoticeKind;
  title: string;
  message: string;
  link: string;
  subjectId: string | null;
  items: readonly ({ id: string } & Record<string, unknown>)[];
  count: number;
};

/** Returns the mail of one notification. Mails about one subject are one thread. */
export function noticeMail(
  { kind, title, message, link, subjectId, items, count }: MailedNotification,
  organization: Organization,
  addressing: Addressing,
  now: Date,
): Mail {
  const { one, path } = kindOf(kind);
  const lines = items.map(({ id, ...facts }) => ({ text: one(facts, now).title, link: `/organizations/${organization.id}${path.one(id, facts)}` }));
  return finish(addressing, {
    subject: title,
    body: [
      message,
      ...(count > 1 ? toLists([{ heading: "What it is about", lines }], count, addressing.publicUrl) : []),
      { label: "Open in Certitude", url: toUrl(addressing.publicUrl, link) },
      `You get this mail as a member of ${organization.name}.`,
    ],
    ...(subjectId && { thread: `${subjectId}.${organization.id}` }),
  });
}

/** A notice that is one line of a mail. */
export type Line = { kind: NoticeKind; title: string; link: string | null; organization: string };

/**
 * Returns a mail that lists notices by organization and kind: what is critical first, else in the order given. `count` may be more than are
 * given.
 */
export function listMail(subject: string, notices: readonly Line[], count: number, addressing: Addressing): Mail {
  const groups = new Map<string, { heading: string; lines: { text: string; link: string | null }[] }>();
  for (const { kind, title, link, organization } of notices
    .toSorted((a, b) => RANKS[kindOf(a.kind).severity] - RANKS[kindOf(b.kind).severity])
    .slice(0, LINES)) {
    const heading = `${organization}: ${kind.replaceAll("_", " ")}`;
    const group = groups.get(heading) ?? { heading, lines: [] };
    groups.set(heading, group);
    group.lines.push({ text: title, link });
  }
  return finish(addressing, { subject, body: toLists([...groups.values()], count, addressing.publicUrl) });
}

type LinkedList = { heading: string; lines: readonly { text: string; link: string | null }[] };

/** Returns the lists with as many lines as a mail has, and how many more there are. */
function toLists(lists: LinkedList[], count: number, publicUrl: string): (string | List)[] {
  const shortened = lists.map(({ heading, lines }) => ({
    heading,
    lines: lines.slice(0, LINES).map(({ text, link }) => ({ text, ...(link !== null && { url: toUrl(publicUrl, link) }) })),
  }));
  const shown = shortened.reduce((sum, { lines }) => sum + lines.length, 0);
  return count > shown ? [...shortened, `And ${count - shown} more.`] : shortened;
}

/** A link is a path, which a fact may be part of: as a URL it holds no space and no end of a line. */
const toUrl = (publicUrl: string, link: string) => new URL(`${publicUrl.replace(/\/$/, "")}${link}`).href;

/** Names in a mail are what others chose: letters that look alike are made visible. */
const finish = ({ to, unsubscribeUrl }: Addressing, { subject, body, ...mail }: Pick<Mail, "subject" | "body" | "thread">): Mail => ({
  to,
  subject: showLookAlikes(subject),
  body: body.map((part) => {
    if (typeof part === "string") return showLookAlikes(part);
    if ("label" in part) return part;
    return { heading: showLookAlikes(part.heading), lines: part.lines.map((line) => ({ ...line, text: showLookAlikes(line.text) })) };
  }),
  unsubscribeUrl,
  ...mail,
});
