/** Lets so many connections be there at once; the others wait until one has left. */
export function createPlaces(count: number) {
  const waiting: (() => void)[] = [];
  let left = count;

  async function take() {
    if (left > 0) left--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function leave() {
    const next = waiting.shift();
    if (next) next();
    else left++;
  }
  return { take, leave };
}
