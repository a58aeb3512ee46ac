/** How many of a CA or of a provider are asked at the same time. */
const AT_ONCE = 5;

/** Does something with each, a few at the same time, in order. */
export async function inGroups<Item, Result>(items: Item[], work: (item: Item) => Promise<Result>) {
  const results: Result[] = [];
  for (const group of groupsOf(items)) results.push(...(await Promise.all(group.map(work))));
  return results;
}

export const groupsOf = <Item>(items: Item[]) =>
  Array.from({ length: Math.ceil(items.length / AT_ONCE) }, (_, index) => items.slice(index * AT_ONCE, (index + 1) * AT_ONCE));
