import { mkdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Logger } from "pino";
import { attributesIn, bytesOf, digestOf, missingDirectories, readSnapshot, removeFile, type Snapshot, temporaryOf, writeAtomically } from "./files";
import type { Host } from "./host";
import { clearScratch, makeScratch } from "./scratch";
import { runTool, type User } from "./tool";

/** The command that takes a tool's effect back; when it fails in the words `moot`, there was nothing to take back. */
type Counter = { argv: string[]; input?: string; moot?: string };

/** How one step of an attempt is taken back: `after` is the digest of what the step left, null where it removed the file. */
type Undo =
  | { kind: "file"; path: string; before: Snapshot | null; after: string | null }
  | { kind: "directory"; path: string }
  | { kind: "scratch"; path: string }
  | { kind: "again"; argv: string[]; user?: User }
  | ({ kind: "run"; user?: User } & Counter);

/** What an assignment has put on the host, by name: a file, with what was there before, or an entry inside a store. */
type Claim = { digest?: string; before?: Snapshot | null };
export type Ledger = {
  claims: Record<string, Claim>;
  undo: Undo[] /** The claims when the attempt began; none while there is no attempt. */;
  claimsBefore?: Ledger["claims"] | undefined;
};

type Writing = { mode: number; owner?: User | undefined; takesOver?: boolean };
type Running = { undo?: Counter; user?: User; environment?: Record<string, string>; input?: string };
type Attempt = {
  host: Host;
  log: Logger;
  ledger: Ledger;
  save: () => Promise<void> /** Whether another assignment has put this there. */;
  isOthers: (name: string) => boolean;
};
export type Change = ReturnType<typeof beginChange>;

/**
 * An attempt to change the host for one assignment. Each step is in the ledger, on disk by `save`, before it is taken: an attempt
 * that fails is taken back, and so is, by the next run, one whose agent was killed.
 */
export function beginChange({ host, log, ledger, save, isOthers }: Attempt) {
  ledger.claimsBefore ??= { ...ledger.claims };

  async function note(undo: Undo) {
    ledger.undo.push(undo);
    if ("path" in undo) log.info({ path: undo.path }, undo.kind === "file" ? "changes a file" : "makes a directory");
    await save();
  }

  /** Makes what is missing of a directory; as `user`, where that user's own directories lead there. */
  async function makeDirectory(path: string, user?: User) {
    for (const each of await missingDirectories(path)) {
      await note({ kind: "directory", path: each });
      await (user ? runTool(host, ["mkdir", "--mode=700", each], { user }) : mkdir(each, { mode: 0o755 }));
    }
  }

  /** A directory for what a tool must read from a file or write to one, closed to others; it goes when the attempt ends. */
  async function scratch() {
    const known = ledger.undo.find(({ kind }) => kind === "scratch");
    if (known && "path" in known) return known.path;
    const path = join(host.environment.TMPDIR ?? "/tmp", `certitude-agent-${crypto.randomUUID()}`);
    await note({ kind: "scratch", path });
    await makeScratch(path);
    return path;
  }

  /** Writes a file that is all ours. One that was there already is refused or, with `takesOver`, kept to be put back on removal. */
  async function own(path: string, content: string, { mode, owner, takesOver = false }: Writing) {
    await makeDirectory(dirname(path));
    const before = (await readSnapshot(path)) ?? null;
    const claim = ledger.claims[path];
    if (isOthers(path)) throw new Error(`${path} belongs to another assignment on this host. Choose another alias or file name.`);
    if (before && !claim && !takesOver) throw new Error(`${path} is there already, and not by this agent. Move it away, or choose another alias or file name.`);
    const after = digestOf(content);
    ledger.claims[path] = { digest: after, before: claim?.before === undefined ? before : claim.before };
    await note({ kind: "file", path, before, after });
    const { uid, gid } = owner ?? before ?? (await attributesIn(dirname(path), mode));
    await writeAtomically(path, content, { uid, gid, mode });
  }

  /** Takes a file of ours away, or puts back what was there before; one that somebody else has replaced since is left alone. */
  async function release(path: string) {
    const claim = ledger.claims[path];
    if (!claim) return;
    const now = (await readSnapshot(path)) ?? null;
    if (now && digestOf(bytesOf(now)) === claim.digest) {
      await note({ kind: "file", path, before: now, after: claim.before ? digestOf(bytesOf(claim.before)) : null });
      if (claim.before) await writeAtomically(path, bytesOf(claim.before), claim.before);
      else await removeFile(path);
    }
    await disclaim(path);
  }

  /** Writes a file that others write too, or removes it with null; it keeps its owner and mode. */
  async function edit(path: string, content: string | Uint8Array | null, mode = 0o644, owner?: User) {
    await makeDirectory(dirname(path));
    const before = (await readSnapshot(path)) ?? null;
    await note({ kind: "file", path, before, after: content === null ? null : digestOf(content) });
    if (content === null) return removeFile(path);
    await writeAtomically(path, content, before ?? { ...(await attributesIn(dirname(path), mode)), ...owner });
  }

  /** Lets a tool edit a copy of a file, which then takes the file's place; where there is none yet, the tool makes it. A given mode holds for both. */
  async function editWith(path: string, tool: (copy: string) => Promise<unknown>, mode?: number) {
    await makeDirectory(dirname(path));
    const before = (await readSnapshot(path)) ?? null;
    const copy = join(await scratch(), basename(path));
    if (before) await writeFile(copy, bytesOf(before), { mode: 0o600 });
    await tool(copy);
    const content = await readFile(copy);
    await rm(copy);
    await note({ kind: "file", path, before, after: digestOf(content) });
    await writeAtomically(path, content, { ...(before ?? (await attributesIn(dirname(path), 0o644))), ...(mode !== undefined && { mode }) });
  }

  /** Remembers that an entry inside a store is ours; with the digest of what it holds, `owns` can tell whether it still is. */
  async function claim(entry: string, digest?: string) {
    if (isOthers(entry)) throw new Error(`${entry} belongs to another assignment on this host. Choose another alias.`);
    ledger.claims[entry] = digest === undefined ? {} : { digest };
    await save();
  }

  /** Remembers that a thing which several assignments may share is ours too. */
  async function share(name: string) {
    ledger.claims[name] = {};
    await save();
  }

  /** Forgets it, and answers whether it was ours and nobody shares it any more. */
  async function unshare(name: string) {
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
    if (undo) await note({ kind: "run", ...undo, ...(user && { user }) });
    log.info({ argv }, "runs a tool");
    return runTool(host, argv, options);
  }

  /** Runs a command that makes a program read the files; it runs again after they have been put back. */
  async function refresh(argv: string[], user?: User) {
    await note({ kind: "again", argv, ...(user && { user }) });
    log.info({ argv }, "runs a command");
    await runTool(host, argv, user && { user });
  }

  const owns = (name: string, digest?: string) => name in ledger.claims && (digest === undefined || ledger.claims[name]?.digest === digest);
  /** What of ours begins so. */
  const owned = (prefix: string) => Object.keys(ledger.claims).filter((name) => name.startsWith(prefix));
  return { host, makeDirectory, scratch, own, release, edit, editWith, claim, disclaim, share, unshare, owns, owned, isOthers, run, refresh };
}

/** Puts the host back as it was when the attempt began. It goes on after a failure, and answers what failed. */
export async function rollBack({ host, log, ledger, save }: Omit<Attempt, "isOthers">): Promise<string[]> {
  const failures: string[] = [];
  log.warn({ steps: ledger.undo.length }, "rolls back");
  const again = ledger.undo.filter(({ kind }) => kind === "again");
  for (const step of [...ledger.undo.filter(({ kind }) => kind !== "again").toReversed(), ...again])
    await takeBack(host, step).catch((error: Error) => failures.push(error.message));
  if (ledger.claimsBefore) ledger.claims = ledger.claimsBefore;
  await settle({ ledger, save });
  return failures;
}

/** Ends an attempt: what it did stands. */
export async function settle({ ledger, save }: Pick<Attempt, "ledger" | "save">) {
  ledger.undo = ledger.undo.filter(({ kind }) => kind === "scratch");
  ledger.claimsBefore = undefined;
  await save();
  if (ledger.undo.length === 0) return;
  for (const step of ledger.undo) if (step.kind === "scratch") await clearScratch(step.path);
  ledger.undo = [];
  await save();
}

/** Whether an attempt was cut short, or what it needed was not yet cleared away. */
export const isUnsettled = ({ undo, claimsBefore }: Ledger) => undo.length > 0 || claimsBefore !== undefined;

async function takeBack(host: Host, step: Undo) {
  if (step.kind === "file") return putBack(step);
  if (step.kind === "directory") return rmdir(step.path).catch(unlessInUse);
  if (step.kind === "scratch") return clearScratch(step.path);
  const { kind, argv, ...options } = step;
  await runTool(host, argv, options).catch((error: Error) => {
    if (kind === "again" || !step.moot || !error.message.includes(step.moot)) throw error;
  });
}

async function putBack({ path, before, after }: Extract<Undo, { kind: "file" }>) {
  await rm(temporaryOf(path), { force: true });
  const now = await readSnapshot(path);
  const digest = now ? digestOf(bytesOf(now)) : null;
  const isAsBefore = digest === (before && digestOf(bytesOf(before)));
  if (isAsBefore && now?.mode === before?.mode) return;
  if (!isAsBefore && digest !== after) throw new Error(`${path} was changed by somebody else meanwhile and was left alone.`);
  if (before) await writeAtomically(path, bytesOf(before), before);
  else await removeFile(path);
}

/** A directory that somebody uses by now stays, and one that was never made need not go. */
function unlessInUse({ code, message }: NodeJS.ErrnoException) {
  if (code !== "ENOTEMPTY" && code !== "ENOENT") throw new Error(message);
}
