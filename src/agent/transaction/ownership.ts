import type { Attempt } from "./journal";

/** The things that an assignment owns on the host, by name: files, directories, and entries inside a store. */
export function createOwnership({ journal, save, isOthers, isStayingOthers }: Attempt) {
  /** Records that an entry inside a store is ours; with the digest of its content, `owns` finds whether it still is. */
  async function claim(entry: string, digest?: string) {
    if (isOthers(entry)) throw new Error(`${entry} belongs to another assignment on this host. Choose another alias.`);
    journal.ownership[entry] = digest === undefined ? {} : { digest };
    await save();
  }

  async function disclaim(name: string) {
    journal.ownership = Object.fromEntries(Object.entries(journal.ownership).filter(([each]) => each !== name));
    await save();
  }

  /** Records that this assignment, too, uses a thing which several may share. */
  async function addReference(name: string) {
    journal.ownership[name] = {};
    await save();
  }

  /** Drops this assignment's reference. Returns true if it was the last one. */
  async function dropReference(name: string) {
    const wasOurs = name in journal.ownership;
    await disclaim(name);
    return wasOurs && !isOthers(name);
  }

  const owns = (name: string, digest?: string) => name in journal.ownership && (digest === undefined || journal.ownership[name]?.digest === digest);

  /** Returns the names of ours with this prefix. */
  const owned = (prefix: string) => Object.keys(journal.ownership).filter((name) => name.startsWith(prefix));

  return { claim, disclaim, addReference, dropReference, owns, owned, isOthers, isStayingOthers };
}

export type OwnershipOf = ReturnType<typeof createOwnership>;
