/** Says where two counts are not the same. */
export function differ(expected: ReadonlyMap<string, number>, found: ReadonlyMap<string, number>, where: string) {
  const differences: string[] = [];
  for (const key of new Set([...expected.keys(), ...found.keys()])) {
    const [must, did] = [expected.get(key) ?? 0, found.get(key) ?? 0];
    if (must !== did) differences.push(`${key}: ${did} times ${where}, ${must} expected`);
  }
  return differences;
}

/** The notices received, by kind, and how much of it was of certificates that were renewed before there was a threshold. */
export function countHeard(found: ReadonlyMap<string, number>, isRenewedInTime: ReadonlySet<string>) {
  const received: Record<string, number> = {};
  let needless = 0;
  for (const [key, count] of found) {
    const [, id = "", kind = ""] = key.split(" ");
    received[kind] = (received[kind] ?? 0) + count;
    if (kind !== "certificate_revoked" && isRenewedInTime.has(id)) needless++;
  }
  return { received, needless };
}
