import type { Pages } from "../reading";

/** Reads the next page of a list that is no table. */
export const ShowMore = ({ of: { isWhole, more } }: { of: Pick<Pages<unknown>, "isWhole" | "more"> }) =>
  isWhole.value ? null : (
    <button type="button" onClick={() => void more()}>
      Show more
    </button>
  );
