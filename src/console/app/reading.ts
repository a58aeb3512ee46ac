import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { read, send } from "./api";
import { isRefused } from "./auth/session";
import { toError } from "./errors";
import type { Address, AnswerOf, QueryOf, Readable, RowOf } from "./operations";

export type Reading<T> = { data: ReadonlySignal<T | undefined>; error: ReadonlySignal<Error | undefined>; reload: () => Promise<void> };

/** Reads a path when the part appears and when the path or the query changes; `reload` reads it once more. */
export const useRead = <There extends Readable>(path: Address<There>, query?: QueryOf<There["get"]>): Reading<AnswerOf<There["get"]>> =>
  useReading(JSON.stringify([path, query]), () => read(path, query));

/** Reads a list to its end. For lists that are short by their nature: `usePages` reads on demand. */
export const useAll = <There extends Readable>(path: Address<There>): Reading<RowOf<There>[]> => useReading(path, () => readAll(path));

function useReading<T>(key: string, load: () => Promise<T>): Reading<T> {
  const reading = useMemo(() => createReading(load), [key]);
  useEffect(() => void reading.reload(), [reading]);
  return reading;
}

/** Yields the pages of a list, one after the other. */
export async function* pagesOf<There extends Readable>(path: Address<There>, query?: QueryOf<There["get"]>): AsyncGenerator<RowOf<There>[]> {
  for (let cursor: string | undefined; ; ) {
    const page = await readPage(path, query, cursor);
    yield page.items;
    if (!page.nextCursor) return;
    cursor = page.nextCursor;
  }
}

/** Returns a list whole. */
export async function readAll<There extends Readable>(path: Address<There>) {
  return (await Array.fromAsync(pagesOf(path))).flat();
}

type Page<Row> = { items: Row[]; nextCursor?: string | null };

const readPage = <There extends Readable>(path: Address<There>, query: QueryOf<There["get"]> | undefined, cursor: string | undefined) =>
  send("GET", path, { query: { limit: 100, ...query, cursor } }) as Promise<Page<RowOf<There>>>;

function createReading<T>(load: () => Promise<T>): Reading<T> {
  const data = signal<T>();
  const error = signal<Error>();
  const reload = () =>
    load().then(
      (given) => {
        error.value = undefined;
        data.value = given;
      },
      (failure) => {
        error.value = failure;
      },
    );
  return { data, error, reload };
}

/** Milliseconds between two reads of what moves by itself. */
const LOOK_MS = 2_000;

/** Reads again and again while `isMoving` and the tab is in sight. */
export function useLive({ reload }: Pick<Reading<unknown>, "reload">, isMoving: boolean) {
  useEffect(() => {
    if (!isMoving) return;
    const timer = setInterval(() => document.hidden || isRefused.value || void reload(), LOOK_MS);
    return () => clearInterval(timer);
  }, [isMoving, reload]);
}

export type Pages<T> = {
  rows: Signal<T[]>;
  error: Signal<Error | undefined>;
  /** False while there is a next page. */
  isWhole: Signal<boolean>;
  isLoading: Signal<boolean>;
  more: () => Promise<void>;
  /** Reads from the first page on. */
  reload: () => Promise<void>;
};

/** A list of the API, page by page: `more` appends the next one. */
export function usePages<There extends Readable>(path: Address<There>, query?: QueryOf<There["get"]>): Pages<RowOf<There>> {
  const key = JSON.stringify([path, query]);
  const pages = useMemo(() => createPages((cursor) => readPage(path, query, cursor)), [key]);
  useEffect(() => {
    void pages.more();
  }, [pages]);
  return pages;
}

function createPages<T>(load: (cursor: string | undefined) => Promise<Page<T>>): Pages<T> {
  const pages = { rows: signal<T[]>([]), error: signal<Error | undefined>(undefined), isWhole: signal(false), isLoading: signal(false) };
  let cursor: string | undefined;
  async function more() {
    if (pages.isLoading.value || pages.isWhole.value) return;
    pages.isLoading.value = true;
    try {
      const page = await load(cursor);
      pages.rows.value = cursor === undefined ? page.items : [...pages.rows.value, ...page.items];
      cursor = page.nextCursor ?? undefined;
      pages.isWhole.value = cursor === undefined;
    } catch (error) {
      pages.error.value = toError(error);
      pages.isWhole.value = true;
    } finally {
      pages.isLoading.value = false;
    }
  }
  function reload() {
    cursor = undefined;
    pages.error.value = undefined;
    pages.isWhole.value = false;
    return more();
  }
  return { ...pages, more, reload };
}

/** A list that the API gives as a whole, for a `DataTable`. */
export const wholeList = <T>(items: T[]): Pages<T> => ({
  rows: signal(items),
  error: signal(undefined),
  isWhole: signal(true),
  isLoading: signal(false),
  more: () => Promise.resolve(),
  reload: () => Promise.resolve(),
});
