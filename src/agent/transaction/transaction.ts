import { lstat, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { absent, attributesIn, bytesOf, digestOf, inWords, missingDirectories, readSnapshot, removeFile, type Snapshot, writeAtomically } from "../host/files";
import { runProgram, type User } from "../host/program";
import { makeTempDir } from "../host/temp-dir";
import type { Attempt } from "./journal";
import { execute, removeDirectory, type Secret, type UndoCommand, type UndoStep } from "./undo-step";

type Writing = { mode: number; owner?: User | undefined; takesOver?: boolean };
type Running = { undo?: UndoCommand; user?: User; environment?: Record<string, string>; input?: string };
type Rereading = { user?: User | undefined; secret?: Secret | undefined; again?: string[] };
/** Of a new file that many programs read. */
const SHARED_MODE = 0o644;
const STEPS = { file: "changes a file", directory: "makes a directory", scratch: "makes a directory", vacated: "removes a directory" };
export type Transaction = ReturnType<typeof beginTransaction>;

/**
 * An attempt to change the host for one assignment. Each step is in the ledger, on disk by `save`, before it is taken: an attempt
 * that fails is taken back, and so is, by the next run, one whose agent was killed.
 */
export function beginTransaction({ host, log, ledger, save, isOthers }: Attempt) {
  ledger.claimsBefore ??= { ...ledger.claims };

  async function addStep(undo: UndoStep) {
    ledger.undo.push(undo);
    if ("path" in undo) log.info({ path: undo.path }, STEPS[undo.kind]);
    await save();
  }

  /** Makes what is missing of a directory; as `user`, where that user's own directories lead there. */
  async function makeDirectory(path: string, user?: User) {
    // One that was made for another assignment is this one's too: the last of them takes it away.
    for (let each = path; each !== dirname(each); each = dirname(each)) if (isOthers(each)) ledger.claims[each] = {};
    for (const each of await missingDirectories(path)) {
      ledger.claims[each] = {};
      await addStep({ kind: "directory", path: each });
      await (user ? runProgram(host, ["mkdir", "-m", "700", each], { user }) : mkdir(each, { mode: 0o755 }).catch(inWords(each, "made")));
    }
  }

  /** Takes a directory away, and those on the way to it, as far as they were made for this assignment and are empty now. */
  async function removeEmptyDirectories(path: string) {
    for (let each = path; each in ledger.claims; each = dirname(each)) {
      const found = await lstat(each).catch(absent);
      if (found) await addStep({ kind: "vacated", path: each, mode: found.mode & 0o7777, uid: found.uid, gid: found.gid });
      if (found && !(await removeDirectory(each))) return;
      await disclaim(each);
    }
  }

  /** A directory for what a tool must read from a file or write to one, closed to others; it goes when the attempt ends. */
  async function tempDirectory() {
    const known = ledger.undo.find(({ kind }) => kind === "scratch");
    if (known && "path" in known) return known.path;
    const path = join(host.environment.TMPDIR ?? "/tmp", `certitude-agent-${crypto.randomUUID()}`);
    await addStep({ kind: "scratch", path });
    await makeTempDir(path);
    return path;
  }

  /** Writes a file that is all ours. One that was there already is refused or, with `takesOver`, kept to be put back on removal. */
  async function writeOwned(path: string, content: string, { mode, owner, takesOver = false }: Writing) {
    await makeDirectory(dirname(path));
    const before = (await readSnapshot(path)) ?? null;
    const claim = ledger.claims[path];
    if (isOthers(path)) throw new Error(`${path} belongs to another assignment on this host. Choose another alias or file name.`);
    if (before && !claim && !takesOver) throw new Error(`${path} is there already, and not by this agent. Move it away, or choose another alias or file name.`);
    const after = digestOf(content);
    ledger.claims[path] = { digest: after, before: claim?.before === undefined ? before : claim.before };
    await addStep({ kind: "file", path, before, after });
    const { uid, gid } = owner ?? before ?? (await attributesIn(dirname(path), mode));
    await writeAtomically(path, content, { uid, gid, mode });
  }

  /**
   * Takes files that belong together away, or puts back what was there before; where somebody else has replaced one of them since, all stay.
   * Answers whether somebody else's are there now.
   */
  async function restore(...paths: string[]) {
    const files = [];
    for (const [path, { before = null, digest }] of Object.entries(ledger.claims))
      if (paths.includes(path)) files.push({ path, before, digest, now: (await readSnapshot(path)) ?? null });
    const isReplaced = files.some(({ now, digest }) => now && digestOf(bytesOf(now)) !== digest);
    for (const { path, before, now } of files) {
      if (now && !isReplaced) await restoreFile(path, before, now);
      await disclaim(path);
    }
    return isReplaced || files.some(({ before, now }) => before && now);
  }

  async function restoreFile(path: string, before: Snapshot | null, now: Snapshot) {
    await addStep({ kind: "file", path, before: now, after: before && digestOf(bytesOf(before)) });
    await (before ? writeAtomically(path, bytesOf(before), before) : removeFile(path));
  }

  /** Writes a file that others write too, or removes it with null; it keeps its owner and mode. */
  async function editShared(path: string, content: string | Uint8Array | null) {
    await makeDirectory(dirname(path));
    const before = (await readSnapshot(path)) ?? null;
    await addStep({ kind: "file", path, before, after: content === null ? null : digestOf(content) });
    if (content === null) return removeFile(path);
    await writeAtomically(path, content, before ?? (await attributesIn(dirname(path), SHARED_MODE)));
  }

  /** Lets a tool edit a copy of a file, which then takes the file's place; where there is none yet, the tool makes it. A given mode holds for both. */
  async function editWith(path: string, tool: (copy: string) => Promise<unknown>, mode?: number) {
    await makeDirectory(dirname(path));
    const before = (await readSnapshot(path)) ?? null;
    const copy = join(await tempDirectory(), basename(path));
    if (before) await writeFile(copy, bytesOf(before), { mode: 0o600 });
    await tool(copy);
    const content = await readFile(copy);
    await rm(copy);
    await addStep({ kind: "file", path, before, after: digestOf(content) });
    await writeAtomically(path, content, { ...(before ?? (await attributesIn(dirname(path), SHARED_MODE))), ...(mode !== undefined && { mode }) });
  }

  /** Remembers that an entry inside a store is ours; with the digest of what it holds, `owns` can tell whether it still is. */
  async function claim(entry: string, digest?: string) {
    if (isOthers(entry)) throw new Error(`${entry} belongs to another assignment on this host. Choose another alias.`);
    ledger.claims[entry] = digest === undefined ? {} : { digest };
    await save();
  }

  /** Remembers that a thing which several assignments may share is ours too. */
  async function addReference(name: string) {
    ledger.claims[name] = {};
    await save();
  }

  /** Forgets it, and answers whether it was ours and nobody shares it any more. */
  async function dropReference(name: string) {
    const wasOurs = name in ledger.claims;
    await disclaim(name);
    return wasOurs && !isOthers(name);
  }

  async function disclaim(name: string) {
    ledger.claims = Object.fromEntries(Object.entries(ledger.claims).filter(([each]) => each !== name));
    await save();
  }

  /** Runs a tool; `undo` is the command that takes its effect back. */
  async function run(argv: readonly string[], { undo, ...options }: Running = {}) {
    const { user } = options;
    if (undo) await addStep({ kind: "run", ...undo, ...(user && { user }) });
    log.info({ argv }, "runs a tool");
    return runProgram(host, argv, options);
  }

  /** Runs a command that makes a program read the files; it, or `again`, runs once more after they have been put back. */
  async function reload(argv: string[], { user, secret, again = argv }: Rereading = {}) {
    const by = { ...(user && { user }), ...(secret && { secret }) };
    await addStep({ kind: "again", argv: again, ...by });
    log.info({ argv }, "runs a command");
    await execute(host, { argv, ...by });
  }

  const owns = (name: string, digest?: string) => name in ledger.claims && (digest === undefined || ledger.claims[name]?.digest === digest);
  /** What of ours begins so. */
  const owned = (prefix: string) => Object.keys(ledger.claims).filter((name) => name.startsWith(prefix));
  return {
    host,
    makeDirectory,
    removeEmptyDirectories,
    tempDirectory,
    writeOwned,
    restore,
    editShared,
    editWith,
    claim,
    disclaim,
    addReference,
    dropReference,
    owns,
    owned,
    isOthers,
    run,
    reload,
  };
}
