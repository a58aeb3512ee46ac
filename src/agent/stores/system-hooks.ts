import { lstat, readlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Argv, argvOf, hostWord, type Word } from "../host/arguments";
import { holds } from "../host/entries";
import { absent, readSnapshot, removeFile, textOf } from "../host/files";
import type { Host } from "../host/host";
import { fingerprintOf } from "../host/pem";
import { ProgramFailure, runProgram } from "../host/program";
import type { Transaction } from "../transaction/transaction";
import { findInKeystore, readKeystore } from "./keystore";

/**
 * Finds the hooks of Debian's update-ca-certificates, each of which fills another store. They read lines `+link` and `-link`;
 * the tool itself never reports a removed anchor to them.
 */
async function findHooks(host: Host) {
  const { hooks } = host.system;
  if (!(await lstat(hooks).catch(absent))) return [];
  return (await runProgram(host, argvOf("run-parts", "--test", "--", hostWord(hooks)))).stdout.split("\n").filter(Boolean).map(hostWord);
}

/** The link that the tool makes of an anchor's file. */
const linkOf = ({ system: { bundle } }: Host, name: string) =>
  join(
    dirname(bundle),
    `${name
      .replace(/\.crt$/, "")
      .replace(/[ ,]/g, "_")
      .replace(/[()]/g, "=")}.pem`,
  );

/** Returns the link of an anchor's file, whether anything has its place, and whether it is that link. */
async function findOwnLink(host: Host, anchor: string) {
  const link = linkOf(host, basename(anchor));
  const target = await readlink(link).catch((error: NodeJS.ErrnoException) => (error.code === "EINVAL" ? "" : absent(error)));
  return { link, isThere: target !== undefined, isOwn: target === anchor };
}

/** Claims the link that the tool is to make of an anchor; an error where it would replace something else, or another assignment's. */
export async function claimLink({ host, claim }: Transaction, anchor: string) {
  const { link, isThere, isOwn } = await findOwnLink(host, anchor);
  if (!isThere || isOwn) return claim(link);
  throw new Error(`${link} is there already, and does not lead to ${anchor}: ${host.system.update[0]} would replace it. Choose another alias.`);
}

/**
 * Removes the link of an anchor by its own name: an earlier release took names that the tool, in older releases, expands when
 * it removes them.
 */
export async function removeOwnLink({ host, disclaim }: Transaction, anchor: string) {
  const { link, isOwn } = await findOwnLink(host, anchor);
  if (isOwn) await removeFile(link);
  await disclaim(link);
}

/** Throws where the hook would replace another certificate in Java's trust store, by the entry that it makes of an anchor. */
export async function expectOwnEntry(host: Host, anchor: string) {
  const { link, isThere } = await findOwnLink(host, anchor);
  const keystore = isThere ? undefined : await javaStoreOn(host);
  if (!keystore) return;
  const fingerprint = fingerprintOf(textOf(await readSnapshot(anchor)));
  const { entries } = await readKeystore(keystore, host);
  const other = entries.find((each) => each.name.toLowerCase() === aliasOf(link) && !holds(each, fingerprint));
  if (other)
    throw new Error(
      `${keystore.path} holds another certificate as ${other.name}, and not by this agent: the hooks in ${host.system.hooks} would replace it. Choose another alias.`,
    );
}

const isThere = async (path: string) => (await lstat(path).catch(absent)) !== undefined;

/** Has the hooks run, should the attempt be rolled back, for an anchor that only now comes. */
export async function runHooksAfterRollback(transaction: Transaction, name: string) {
  const link = linkOf(transaction.host, name);
  if (await isThere(link)) return;
  for (const hook of await findHooks(transaction.host)) await transaction.afterRollback({ argv: argvOf(hook), input: `-${link}\n` });
}

/** Runs the hooks for an anchor that the tool does not run them for: it has gone, unless another one has its link now. */
export async function runHooks(transaction: Transaction, name: string, change: "+" | "-") {
  const { host } = transaction;
  const link = linkOf(host, name);
  if (change === "-" && (await isThere(link))) return;
  const hooks = await findHooks(host);
  for (const hook of hooks) await transaction.runTogether({ argv: argvOf(hook), rerun: argvOf(hook), input: `${change}${link}\n` });
  if (await isDone(host, link, change)) return;
  for (const hook of hooks) await finishInterrupted(transaction, hook);
  if (change === "-" && !(await isDone(host, link, change)))
    throw new Error(
      `${host.system.javaStore} still holds it as ${aliasOf(link)}, though the hooks in ${host.system.hooks} were run to remove it. Is dpkg busy?`,
    );
}

const aliasOf = (link: string) => `debian:${link.slice(link.lastIndexOf("/") + 1)}`.toLowerCase();

/** Returns whether Java's trust store, if any, has taken the change that its hook was given. */
async function isDone(host: Host, link: string, change: "+" | "-") {
  const keystore = await javaStoreOn(host);
  if (!keystore) return true;
  const { entries } = await readKeystore(keystore, host);
  return entries.some(({ name }) => name.toLowerCase() === aliasOf(link)) === (change === "+");
}

/**
 * Has dpkg configure the package of a hook that leaves its work to a trigger, where dpkg was killed or failed at that. Until then it runs
 * no trigger of the package, and reports success.
 */
async function finishInterrupted(transaction: Transaction, hook: Word) {
  const { host } = transaction;
  const [, owner] = /^([a-z0-9][a-z0-9+.-]*)[:,]/.exec(await askDpkg(host, argvOf("--search", hook))) ?? [];
  if (owner === undefined) return;
  const isInterrupted = /^Status: .* half-configured$/m.test(await askDpkg(host, argvOf("--status", hostWord(owner))));
  if (isInterrupted) await transaction.run(argvOf("dpkg", "--configure", hostWord(owner)));
}

/** The answer of dpkg-query; empty where it knows nothing, or where the system has other packages. */
async function askDpkg(host: Host, args: Argv) {
  const { PATH } = host.environment;
  if (!Bun.which("dpkg-query", PATH === undefined ? {} : { PATH })) return "";
  try {
    return (await runProgram(host, argvOf("dpkg-query", args))).stdout;
  } catch (error) {
    if (error instanceof ProgramFailure) return "";
    throw error;
  }
}

const SETTINGS = "/etc/default/cacerts";
/** The password that every JDK ships its trust store with. */
export const SHIPPED_PASSWORD = "changeit";

/** The keystore that a hook fills for Java; undefined where it is not there, or no Java is. */
async function javaStoreOn({ system: { javaStore: path }, environment: { PATH, JAVA_HOME } }: Host) {
  if (!(await isThere(path)) || !(JAVA_HOME || Bun.which("keytool", PATH === undefined ? {} : { PATH }))) return;
  const password = /^storepass=(['"]?)(.+?)\1$/m.exec(textOf(await readSnapshot(SETTINGS)))?.[2];
  return { path, password: password ?? SHIPPED_PASSWORD, ...(password !== undefined && { passwordRef: `file:${SETTINGS}` }) };
}

/** Returns the places of the certificate in Java's trust store, as clauses. */
export async function findInJava(fingerprint: string, host: Host) {
  const keystore = await javaStoreOn(host);
  return keystore ? findInKeystore(keystore, fingerprint, host) : [];
}
