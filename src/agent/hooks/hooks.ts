import { constants } from "node:fs";
import { access, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Work } from "../attempt";
import { argvOf, hostWord } from "../host/arguments";
import { absent } from "../host/files";
import { ProgramFailure, runProgram } from "../host/program";
import { faultOnTheWay, isWritableByOthers } from "../host/trusted-path";
import { type AssignmentRecord, lastReport, noteReport } from "../state";

/** Names of files that editors and packages leave beside a hook. */
const LEFT_OVER = /^\.|~$|\.(bak|dpkg-\w+|rpm\w+|swp)$/;
const FAILED = "A hook of this host failed after the change: the agent's log on the host names it.";

/**
 * Runs the host's own programs, in the order of their names, for each record that has changed, until each ran once for the
 * change. A failure is logged and reported.
 */
export async function runHooks(records: Iterable<AssignmentRecord>, work: Work) {
  const changed = [...records].filter(({ change }) => change !== undefined);
  if (changed.length === 0) return;
  const hooks = await findHooks(work);
  const late = new Set<string>();
  for (const record of changed) {
    let hasFailed = false;
    for (const hook of hooks) if (!(await runHook(hook, record, late, work))) hasFailed = true;
    record.change = undefined;
    record.hookFault = hasFailed ? FAILED : undefined;
    const last = lastReport(record);
    if (hasFailed && last) noteReport(record, { ...last, message: [last.message, FAILED].filter(Boolean).join(" ") }, work.clock());
    if (hooks.length > 0 && work.state.records.has(record.assignmentId)) await work.state.save(record);
  }
}

async function runHook(hook: string, { assignmentId, change = {} }: AssignmentRecord, late: Set<string>, { host, log: parent }: Work) {
  const log = parent.child({ hook, assignment: assignmentId });
  if (late.has(hook)) {
    log.error("a hook was not run, because it did not end in time before");
    return false;
  }
  try {
    const { stdout, stderr } = await runProgram(host, argvOf(hostWord(hook)), { environment: change });
    log.info({ event: change.CERTITUDE_EVENT, stdout: stdout.slice(-MAX_OUTPUT), stderr }, "a hook has run");
    return true;
  } catch (error) {
    if (!(error instanceof ProgramFailure)) late.add(hook);
    log.error({ event: change.CERTITUDE_EVENT, reason: (error as Error).message }, "a hook failed");
    return false;
  }
}

/** Characters of a hook's output that are logged. */
const MAX_OUTPUT = 4_000;

/** Returns the paths of the hooks that only root can have put there; others are logged, and not run. */
async function findHooks({ host, log }: Work) {
  const names = (await readdir(host.hooks).catch(absent)) ?? [];
  const hooks: string[] = [];
  for (const name of names.filter((each) => !LEFT_OVER.test(each)).toSorted()) {
    const hook = join(host.hooks, name);
    const fault = await faultOf(hook).catch(({ message }: Error) => message);
    if (fault === undefined) hooks.push(hook);
    else log.error({ hook, reason: fault }, "a hook is not run");
  }
  return hooks;
}

async function faultOf(hook: string) {
  const onTheWay = await faultOnTheWay(hook, "the hook");
  if (onTheWay) return onTheWay;
  const path = await realpath(hook);
  const found = await stat(path);
  if (!found.isFile()) return `${path} is not a plain file.`;
  if (found.uid !== 0) return `${path} belongs to the user with the id ${found.uid}, not to root: chown root ${path}`;
  if (isWritableByOthers(found)) return `${path} may be written by other users: chmod go-w ${path}`;
  const isExecutable = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  return isExecutable ? undefined : `${path} is not executable: chmod +x ${path}`;
}
