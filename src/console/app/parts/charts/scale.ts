/** Maps a number from one range to another. */
export const scale =
  ([from, to]: [number, number], [start, end]: [number, number]) =>
  (value: number) =>
    to === from ? (start + end) / 2 : start + ((value - from) / (to - from)) * (end - start);

/** About `count` round numbers that span the range. */
export function ticks([from, to]: [number, number], count: number): number[] {
  const raw = (to - from) / Math.max(1, count);
  if (!(raw > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw) ?? raw;
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}
