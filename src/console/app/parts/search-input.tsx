import { useEffect, useRef } from "preact/hooks";

/** Milliseconds that a search waits for the next letter. */
const PAUSE_MS = 250;
/** Characters: more makes an address that browsers and servers refuse. */
const LONGEST = 2_000;

type Props = { onSearch: (text: string) => void; id?: string; defaultValue?: string; placeholder?: string | undefined; "aria-label"?: string };

/** A field that searches when no letter has come for a moment. */
export function SearchInput({ onSearch, ...attributes }: Props) {
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const searchLater = (text: string) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => onSearch(text.trim()), PAUSE_MS);
  };
  return <input {...attributes} type="search" maxLength={LONGEST} onInput={({ currentTarget }) => searchLater(currentTarget.value)} />;
}
