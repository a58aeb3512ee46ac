import { useSignal } from "@preact/signals";
import { isPerson } from "../../auth/session";
import { type NoticeList, useNotices } from "../../inbox/list";
import type { Notice } from "../../inbox/types";
import { EmptyState, Failure } from "../../parts/empty";
import { PageHeading } from "../../parts/heading";
import { PersonsOnly } from "../../parts/persons-only";
import { ShowMore } from "../../parts/show-more";
import { toast, toastError } from "../../parts/toast";
import { link, place, setQuery } from "../../router";
import { unread } from "../../title";
import { NoticeRow } from "./notice";
import { type NoticeAction, SettleDialog } from "./settle";

export const InboxPage = () => (isPerson.value ? <Inbox isUnreadAlone={place.value.query.get("unread") === "true"} /> : <PersonsOnly title="Inbox" />);

function Inbox({ isUnreadAlone }: { isUnreadAlone: boolean }) {
  const list = useNotices(isUnreadAlone);
  const settling = useSignal<NoticeAction | undefined>(undefined);
  return (
    <>
      <PageHeading
        title="Inbox"
        intro="What concerns you in your organizations, newest first. It grows by itself."
        actions={
          <>
            <a class="button" href={link("notifications")}>
              Mail preferences
            </a>
            <button type="button" aria-disabled={unread.value === 0} onClick={() => void markAll(list)}>
              Mark all as read
            </button>
          </>
        }
      />
      <fieldset class="segments">
        <legend class="hidden">Notices shown</legend>
        <button type="button" aria-pressed={!isUnreadAlone} onClick={() => setQuery({ unread: "" })}>
          All
        </button>
        <button type="button" aria-pressed={isUnreadAlone} onClick={() => setQuery({ unread: "true" })}>
          Unread <span class="number">{unread.value.toLocaleString()}</span>
        </button>
      </fieldset>
      <Notices list={list} isUnreadAlone={isUnreadAlone} onSettle={(notice, action) => (settling.value = { notice, action })} />
      {settling.value && <SettleDialog {...settling.value} list={list} onClose={() => (settling.value = undefined)} />}
    </>
  );
}

type Props = { list: NoticeList; isUnreadAlone: boolean; onSettle: (notice: Notice, action: NoticeAction["action"]) => void };

function Notices({ list, isUnreadAlone, onSettle }: Props) {
  const { rows, error, isWhole, more } = list;
  if (error.value) return <Failure error={error.value} retry={() => void more()} />;
  if (rows.value.length === 0) return isWhole.value ? <NoNotices isUnreadAlone={isUnreadAlone} /> : <p class="loading">Loading…</p>;
  return (
    <>
      <ol class="notices" aria-label="Notices">
        {rows.value.map((notice) => (
          <NoticeRow
            key={notice.id}
            notice={notice}
            onRead={() => void list.markRead([notice.id]).catch(toastError)}
            onSettle={(action) => onSettle(notice, action)}
          />
        ))}
      </ol>
      <ShowMore of={list} />
    </>
  );
}

const NoNotices = ({ isUnreadAlone }: { isUnreadAlone: boolean }) =>
  isUnreadAlone ? (
    <EmptyState title="You have read everything." hint="New notices appear here by themselves." />
  ) : (
    <EmptyState
      title="Nothing has come yet."
      hint="Certificates that expire, agents that fall silent and what else concerns you will appear here. Choose what is sent by mail too."
      action={{ label: "Mail preferences", href: link("notifications") }}
    />
  );

async function markAll(list: NoticeList) {
  if (unread.value === 0) return;
  await list.markRead().then(() => toast("Everything is read."), toastError);
}
