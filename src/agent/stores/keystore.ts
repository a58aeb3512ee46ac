import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sha256 } from "#crypto/sha256";
import { type Argv, argvOf, hostWord, serverWord } from "../host/arguments";
import { type Entry, holds, readOnce } from "../host/entries";
import { readSnapshot, type Snapshot } from "../host/files";
import { foreign } from "../host/foreign";
import type { Host } from "../host/host";
import { certificatesIn, fingerprintOf, presented } from "../host/pem";
import { ProgramFailure, runProgram } from "../host/program";
import { keyModeOf, type Material, type Store, type Target } from "../store";
import type { Transaction } from "../transaction/transaction";
import { writePkcs12 } from "./pkcs12";

/** A keystore that keytool reads and writes, and what is particular to it. */
export type Keystore = {
  path: string;
  password: string;
  format?: "JKS" | "PKCS12";
  /** The source of the password, as a reference; none for the one that every JDK ships. */
  passwordRef?: string | undefined;
};

const HAS_KEY = "PrivateKeyEntry";
const IS_ANCHOR = "trustedCertEntry";
const KEY_MODE = 0o600;
/** keytool ends before a better compiler would pay: this saves a third of its work. */
const FAST_JVM_START = "-J-XX:TieredStopAtLevel=1";

/** Java's keystores: one file with a password, in which an alias names a trusted certificate, or a private key with its chain. */
export function keystoreStore(locate: (target: Target, host: Host) => Promise<Keystore>): Store {
  async function inspect(target: Target, host: Host) {
    const keystore = await locate(target, host);
    const { file, entries } = await readKeystore(keystore, host);
    const alias = target.alias.toLowerCase(); // as Java itself compares them
    return { keystore, file, entries, entry: entries.find(({ name }) => name.toLowerCase() === alias), claim: `${keystore.path}#${alias}` };
  }

  return {
    async observe(target, material, host) {
      const seen = await inspect(target, host);
      const { keystore, file, entry } = seen;
      const differences: string[] = [];
      const fault = faultOf(entry, material);
      const mode = modeFor(target, material, seen);
      if (fault) differences.push(`${target.alias} in ${keystore.path} ${fault}`);
      if (file && mode !== undefined && file.mode !== mode) differences.push(`${keystore.path} has mode ${file.mode.toString(8)}`);
      return { certificates: entry?.certificates ?? [], differences };
    },

    findRemains: async (target, { fingerprint }, host) => findInKeystore(await locate(target, host), fingerprint, host),

    async install(target, material, transaction) {
      const seen = await inspect(target, transaction.host);
      const { keystore, file, entry, claim } = seen;
      const { path } = keystore;
      const mode = modeFor(target, material, seen);
      if (faultOf(entry, material) === undefined) return mode === undefined ? undefined : transaction.editWith(path, async () => {}, mode);
      if (entry && !transaction.owns(claim))
        throw new Error(`${path} has an entry ${target.alias} already, and not by this agent. Choose another alias, or remove it by keytool -delete.`);
      await transaction.claim(claim, material.fingerprint);
      if (!file || transaction.isOthers(path)) await transaction.addReference(path);
      const fill = async (copy: string) => {
        if (entry) await editEntry(keystore, copy, argvOf("-delete", "-alias", serverWord(target.alias)), transaction);
        await put(keystore, copy, target.alias, material, transaction);
      };
      const isNewWithKey = !file && material.privateKey !== null;
      await transaction.editWith(path, fill, mode ?? (isNewWithKey ? KEY_MODE : undefined));
    },

    async remove(target, transaction) {
      const { keystore, entries, entry, claim } = await inspect(target, transaction.host);
      const isTheAgents = await transaction.dropReference(keystore.path);
      const [own] = entry?.certificates ?? [];
      if (own && transaction.owns(claim, fingerprintOf(own))) {
        if (isTheAgents && entries.length === 1) await transaction.editShared(keystore.path, null);
        else await transaction.editWith(keystore.path, (copy) => editEntry(keystore, copy, argvOf("-delete", "-alias", serverWord(target.alias)), transaction));
      }
      await transaction.removeEmptyDirectories(dirname(keystore.path));
      await transaction.disclaim(claim);
    },
  };
}

type Seen = { file: Snapshot | undefined; entries: Entry[]; entry: Entry | undefined };

/** The mode that the config demands; where the keystore holds a key that the assignment does not bring, it is opened to no one else. */
function modeFor(target: Target, { privateKey }: Material, { file, entries, entry }: Seen) {
  const wanted = keyModeOf(target);
  const keepsKey = entries.some((each) => each.kind !== IS_ANCHOR && (each !== entry || privateKey === null));
  return wanted !== undefined && file && keepsKey ? file.mode & wanted : wanted;
}

/** The keystore's file, and every entry in it; none where there is no file. */
export async function readKeystore(keystore: Keystore, host: Host) {
  const file = await readSnapshot(keystore.path);
  if (!file) return { file, entries: [] };
  const stampOf = () => stampFor(keystore, sha256(file.base64));
  return { file, entries: await readOnce(host, keystore.path, sha256(`${file.base64} ${keystore.password}`), () => list(keystore, host), stampOf) };
}

/**
 * Returns a stamp of the keystore for another process: content, type, and the times of its last change and its password file's.
 * None for other passwords: a digest could be guessed.
 */
async function stampFor({ path, format, passwordRef }: Keystore, digest: string) {
  const [, passwordFile] = /^file:(.*)$/s.exec(passwordRef ?? "") ?? [];
  if (passwordRef !== undefined && passwordFile === undefined) return undefined;
  const places = [path, ...(passwordFile === undefined ? [] : [passwordFile])];
  const seen = await Promise.all(places.map((each) => stat(each, { bigint: true })));
  const facts = seen.map(({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(" "));
  return [digest, format ?? "", passwordRef ?? "", ...facts].join("\n");
}

/** The names under which the keystore holds the certificate, as clauses. */
export async function findInKeystore(keystore: Keystore, fingerprint: string, host: Host) {
  const { entries } = await readKeystore(keystore, host);
  return entries.flatMap((each) => (holds(each, fingerprint) ? `${keystore.path} holds it as ${foreign(each.name)}` : []));
}

function faultOf(entry: Entry | undefined, { certificate, chain, fingerprint, privateKey }: Material) {
  const [own] = entry?.certificates ?? [];
  if (!entry || !own) return "is missing";
  if (fingerprintOf(own) !== fingerprint) return "is another certificate";
  if (privateKey === null) return;
  if (entry.kind !== HAS_KEY) return "lacks its private key";
  // Java may find the root too, where it is in the same keystore.
  const isPresented = presented(certificate, chain).every((each, index) => fingerprintOf(each) === fingerprintOf(entry.certificates[index] ?? own));
  if (!isPresented) return "has another chain";
}

/** Every entry of a keystore, as keytool reads it. */
async function list(keystore: Keystore, host: Host): Promise<Entry[]> {
  const { argv, options } = call(keystore, keystore.path, argvOf("-list", "-rfc"), host);
  const { stdout } = await runProgram(host, argv, options).catch(inWords(keystore));
  return stdout.split(/^Alias name: /m).flatMap((text, index) => {
    const kind = /^Entry type: (\w+)/m.exec(text)?.[1];
    return index === 0 || kind === undefined ? [] : { name: text.slice(0, text.indexOf("\n")), kind, certificates: certificatesIn(text) };
  });
}

async function put(keystore: Keystore, copy: string, alias: string, { certificate, chain, privateKey }: Material, transaction: Transaction) {
  if (privateKey === null)
    return editEntry(keystore, copy, argvOf("-importcert", "-noprompt", "-alias", serverWord(alias)), transaction, { input: certificate });
  const source = await writePkcs12(transaction, { name: "entry", certificates: presented(certificate, chain), privateKey });
  const from = argvOf("-srckeystore", source.path, "-srcstoretype", "PKCS12", "-srcstorepass:env", "CERTITUDE_PASSWORD", "-srcalias", "entry");
  const to = argvOf("-destalias", serverWord(alias), "-destkeypass:env", "CERTITUDE_STORE_PASSWORD");
  await editEntry(keystore, copy, argvOf("-importkeystore", "-noprompt", from, to), transaction, { environment: { CERTITUDE_PASSWORD: source.password } });
}

type Feed = { input?: string; environment?: Record<string, string> };

async function editEntry(keystore: Keystore, copy: string, args: Argv, transaction: Transaction, feed: Feed = {}) {
  const { argv, options } = call(keystore, copy, args, transaction.host);
  await transaction.run(argv, { ...feed, environment: { ...options.environment, ...feed.environment } }).catch(inWords(keystore));
}

/** How keytool names the keystore that it works on: one that it fills from another has other options. */
const OPTIONS = ["-keystore", "-storetype", "-storepass:env"] as const;
const FILLING_OPTIONS = ["-destkeystore", "-deststoretype", "-deststorepass:env"] as const;

/** A call of the agent's keytool. The password goes by the environment, so that no list of processes shows it. */
function call({ password, format }: Keystore, file: string, action: Argv, { environment: { JAVA_HOME } }: Host) {
  const program = hostWord(JAVA_HOME ? join(JAVA_HOME, "bin/keytool") : "keytool");
  const [place, type, secret] = action[0] === "-importkeystore" ? FILLING_OPTIONS : OPTIONS;
  return {
    argv: argvOf(program, FAST_JVM_START, action, place, serverWord(file), ...(format ? [type, format] : []), secret, "CERTITUDE_STORE_PASSWORD"),
    options: { environment: { CERTITUDE_STORE_PASSWORD: password } },
  };
}

/** keytool complains on its standard output, after the name of an exception. */
const inWords =
  ({ path }: Keystore) =>
  (error: Error): never => {
    const words = error instanceof ProgramFailure ? /keytool error: (?:[\w.$]+: )?(.*)/.exec(error.output.stdout)?.[1] : undefined;
    if (words === undefined) throw error;
    if (/password was incorrect/.test(words)) throw new Error(`The password does not open ${path}. Correct what config.storePasswordRef leads to.`);
    throw new Error(`keytool cannot use ${path}: ${foreign(words)}.`);
  };
