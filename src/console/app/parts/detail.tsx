import type { ComponentChildren } from "preact";
import { isAdmin } from "../auth/session";
import type { Reading } from "../reading";
import { Loaded } from "./empty";
import { PageHeading } from "./heading";

type Props<T> = {
  from: Reading<T>;
  /** The heading until the thing is read, and of one without a name. */
  kind: string;
  name: (shown: T) => string;
  back: { label: string; href: string };
  intro?: (shown: T) => ComponentChildren;
  /** Buttons for administrators. */
  actions?: (shown: T) => ComponentChildren;
  children: (shown: T) => ComponentChildren;
};

/** The page of one thing: its heading with what may be done, then what was read of it. */
export function DetailPage<T>({ from, kind, name, back, intro, actions, children }: Props<T>) {
  const shown = from.data.value;
  const title = shown && name(shown);
  return (
    <>
      <PageHeading title={title || kind} back={back} intro={shown && intro?.(shown)} actions={shown && isAdmin.value && actions?.(shown)} />
      <Loaded from={from}>{children}</Loaded>
    </>
  );
}
