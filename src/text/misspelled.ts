import leven from "leven";

/** Shorter names, such as PORT and HOST, have too many innocent neighbours: PORTS, HOME. */
const SHORTEST = 8;
/** From this length on a name is taken for one of ours with two letters wrong, below with one. */
const LONG = 13;

/**
 * Returns the `names` that are almost certainly misspelled `known` ones, each with its meaning. Names with a known one as
 * prefix or suffix are other programs': DATABASE_URL_REPORTS, APPSETTING_DATA_DIR.
 */
export function findMisspelled(names: string[], known: ReadonlySet<string>) {
  const ours = [...known].filter(({ length }) => length >= SHORTEST);
  return names.flatMap((name) => {
    if (known.has(name) || ours.some((meant) => isVariant(name, meant))) return [];
    const [nearest] = ours
      .map((meant) => ({ name, meant, edits: countEdits(name.toUpperCase(), meant) }))
      .filter(({ meant, edits }) => edits <= (meant.length >= LONG ? 2 : 1))
      .sort((one, other) => one.edits - other.edits);
    return nearest ?? [];
  });
}

/** Returns the one of `known` that was probably meant by a name that is none of them. */
export function findMeant(name: string, known: readonly string[]) {
  const [nearest] = known
    .map((meant) => ({ meant, edits: countEdits(name.toLowerCase(), meant.toLowerCase()) }))
    .filter(({ meant, edits }) => edits <= Math.max(1, Math.floor(meant.length / 3)))
    .sort((one, other) => one.edits - other.edits);
  return nearest?.meant;
}

const isVariant = (name: string, meant: string) => name.endsWith(`_${meant}`) || (name.startsWith(meant) && /^(_.+|\d+)$/.test(name.slice(meant.length)));

/** Letters to insert, delete or replace; two that have changed places count as one. */
function countEdits(name: string, meant: string) {
  const edits = leven(name, meant);
  return edits === 2 && sortLetters(name) === sortLetters(meant) ? 1 : edits;
}

const sortLetters = (text: string) => [...text].sort().join("");
