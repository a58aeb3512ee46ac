import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { read } from "./api";
import { isRefused } from "./session";

export type Reading<T> = { data: Signal<T | undefined>; error: Signal<Error | undefined>; reload: () => Promise<void> };

/** Reads a path when the part appears and when the path changes; `reload` reads it once more. */
export const useRead = <T>(path: string): Reading<T> => useReading(path, () => read<T>(path));

/** Reads a list to its end. For lists that are short by their nature: `usePages` reads on demand. */
export const useAll = <T>(path: string): Reading<T[]> => useReading(path, () => readAll<T>(path));

function useReading<T>(path: string, load: () => Promise<T>): Reading<T> {
  const reading = useMemo(() => createReading(load), [path]);
  useEffect(() => void reading.reload(), [reading]);
  return reading;
}

async function readAll<T>(path: string) {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await read<{ items: T[]; nextCursor?: string | null }>(path, { limit: 100, cursor });
    items.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return items;
}

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

/** Milliseconds between two looks at what moves by itself. */
const LOOK_MS = 2_000;

/** Reads again and again while `isMoving` and the tab is in sight. */
export function useLive({ reload }: Reading<unknown>, isMoving: boolean) {
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

type Query = Record<string, string | undefined>;

/** A list of the API, page by page: `more` appends the next one. */
export function usePages<T>(path: string, query: Query = {}): Pages<T> {
  const key = JSON.stringify([path, query]);
  const pages = useMemo(() => createPages<T>(path, query), [key]);
  useEffect(() => {
    void pages.more();
  }, [pages]);
  return pages;
}

function createPages<T>(path: string, query: Query): Pages<T> {
  const pages = { rows: signal<T[]>([]), error: signal<Error | undefined>(undefined), isWhole: signal(false), isLoading: signal(false) };
  let cursor: string | undefined;
  async function more() {
    if (pages.isLoading.value || pages.isWhole.value) return;
    pages.isLoading.value = true;
    try {
      const page = await read<{ items: T[]; nextCursor?: string | null }>(path, { limit: 100, ...query, cursor });
      pages.rows.value = cursor === undefined ? page.items : [...pages.rows.value, ...page.items];
      cursor = page.nextCursor ?? undefined;
      pages.isWhole.value = cursor === undefined;
    } catch (error) {
      pages.error.value = error as Error;
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
