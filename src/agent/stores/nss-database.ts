import { Database as Sqlite } from "bun:sqlite";
import { dirname, join } from "node:path";
import { sha256 } from "#crypto/sha256";
import { toPem } from "#x509/der-writer";
import { type Argv, argvOf, serverWord } from "../host/arguments";
import { type Entry, readOnce } from "../host/entries";
import { bytesOf, findEntry, inWords, missingDirectories, ownerOf, readSnapshot, type Snapshot } from "../host/files";
import { type Host, pathOn } from "../host/host";
import { resolvePassword } from "../host/password";
import { ProgramFailure, runProgram, type User } from "../host/program";
import { writeTemp } from "../host/temp-dir";
import { actAs, findUser } from "../host/user";
import type { Target } from "../store";
import type { Transaction } from "../transaction/transaction";
import { findProfile } from "./firefox-profiles";
import { writePkcs12 } from "./pkcs12";

/** A database of NSS, and its owner where that is not the agent's user. */
export type Database = { directory: string; user: User | undefined; password: string | undefined };
/** An entry to be made. */
export type NewEntry = { name: string; certificate: string; trust: string; privateKey: string | null };

/** The database of the directory in which the tool works. */
const HERE = "sql:.";

/** The places where Chromium looks; it reads the second only if the first is missing, and older releases read only the first. */
const DEFAULTS = [".pki/nssdb", ".local/share/pki/nssdb"];

export async function locateDatabase({ config, storeType }: Target, host: Host): Promise<Database> {
  const account = config.dbUser === undefined ? undefined : await findUser(host, config.dbUser);
  const user = account && actAs(account, `The database of ${config.dbUser}`);
  const home = account?.home ?? host.home;
  const find = storeType === "nss_firefox_profile" ? findProfile : findDefault;
  const directory = config.trustStorePath === undefined ? await find(home) : pathOn({ ...host, home }, config.trustStorePath, "trustStorePath");
  const password = config.storePasswordRef === undefined ? undefined : await resolvePassword(host, config.storePasswordRef);
  return { directory, user: account ? user : actAs(await ownerAt(directory), directory), password };
}

async function findDefault(home: string) {
  const places = DEFAULTS.map((each) => join(home, each));
  for (const each of places) if (await findEntry(each)) return each;
  return join(home, DEFAULTS[0] ?? "");
}

/** Returns the owner of the directory or, where it does not exist yet, of its parent. */
async function ownerAt(directory: string): Promise<User> {
  const [outermost] = await missingDirectories(directory).catch(inWords(directory, "read"));
  return ownerOf(outermost === undefined ? directory : dirname(outermost));
}

/** Every certificate of the database: its nickname, the trust in it (with a u where the private key is there), and itself. */
export async function readDatabase({ directory, user }: Database, host: Host): Promise<Entry[]> {
  const [certificates, keys] = await Promise.all(["cert9.db", "key4.db"].map((name) => readSnapshot(join(directory, name))));
  if (!certificates) return [];
  return readOnce(host, directory, sha256(`${certificates.base64} ${keys?.base64}`), async () => {
    const { stdout } = await runProgram(host, argvOf("certutil", "-d", HERE, "-L"), { directory, ...(user && { user }) }).catch(explain({ directory }));
    const trust = [...stdout.matchAll(/^(.*\S) +([a-zA-Z]*,[a-zA-Z]*,[a-zA-Z]*) *$/gm)];
    const kindOf = (name: string) => [...new Set(trust.flatMap(([, each, flags]) => (each === name && flags ? flags : [])))].join(" and ");
    return certificatesInDatabase(certificates).map(({ name, pem }) => ({ name, kind: kindOf(name), certificates: [pem] }));
  });
}

/**
 * certutil shows every certificate of a subject under each of its nicknames; the database itself (in PKCS #11's terms) knows
 * them apart.
 */
export function certificatesInDatabase(file: Snapshot) {
  const database = Sqlite.deserialize(bytesOf(file), true);
  try {
    const query = "SELECT coalesce(CAST(a3 AS TEXT), '') AS name, a11 AS der FROM nssPublic WHERE a0 = x'00000001'";
    const rows = database.query<{ name: string; der: Uint8Array }, []>(query).all();
    return rows.map(({ name, der }) => ({ name, pem: toPem("CERTIFICATE", der) }));
  } finally {
    database.close();
  }
}

export type Tools = Awaited<ReturnType<typeof openDatabase>>;

/**
 * Returns the operations of certutil and pk12util on a database, which is made if it is missing. Passwords are passed in files
 * that only its user can read.
 */
export async function openDatabase({ directory, user, password }: Database, transaction: Transaction) {
  const as = { directory, ...(user && { user }) };
  const secret = async (text: string) => writeTemp(await transaction.tempDirectory(), `${text}\n`, user);
  const file = password === undefined ? undefined : await secret(password);
  const certutil = (args: Argv) => argvOf("certutil", "-d", HERE, args, ...(file ? ["-f" as const, file] : []));
  const pk12util = (args: Argv) => argvOf("pk12util", "-d", HERE, args, ...(file ? ["-k" as const, file] : []));
  const on = (action: "-D" | "-F", name: string) => certutil(argvOf(action, "-n", serverWord(name)));
  const trusting = (name: string, trust: string) => certutil(argvOf("-A", "-n", serverWord(name), "-t", serverWord(trust), "-a"));
  const run: Transaction["run"] = (argv, options) => transaction.run(argv, { ...options, ...as }).catch(explain({ directory, password }));

  /** An empty database is like none, so it stays after a failure. */
  async function create() {
    await transaction.makeDirectory(directory, user);
    await run(certutil(file ? argvOf("-N") : argvOf("-N", "--empty-password")));
  }

  /** With a wrong password a tool does half of its work: it is tried before. */
  async function authenticate() {
    await runProgram(transaction.host, certutil(argvOf("-K")), as)
      .catch((error: Error) => {
        if (!(error instanceof ProgramFailure && /no keys found/.test(error.output.stdout + error.output.stderr))) throw error;
      })
      .catch(explain({ directory, password }));
  }

  async function add({ name, certificate, trust, privateKey }: NewEntry) {
    if (privateKey === null) {
      const undo = { argv: on("-D", name), ignoredError: "could not find certificate" };
      return run(trusting(name, trust), { input: certificate, undo });
    }
    const source = await writePkcs12(transaction, { name, certificates: [certificate], privateKey }, user);
    const undo = { argv: on("-F", name), ignoredError: "Could not find cert" };
    return run(pk12util(argvOf("-i", source.path, "-w", await secret(source.password))), { undo });
  }

  async function erase({ name, kind, certificates }: Entry) {
    if (!kind.includes("u")) {
      const undo = { argv: trusting(name, kind), input: certificates.join("") };
      return run(on("-D", name), { undo });
    }
    const copy = await writeTemp(await transaction.tempDirectory(), "", user);
    const copyPassword = await secret(crypto.randomUUID());
    await run(pk12util(argvOf("-o", copy, "-n", serverWord(name), "-w", copyPassword)));
    return run(on("-F", name), { undo: { argv: pk12util(argvOf("-i", copy, "-w", copyPassword)) } });
  }

  await ((await findEntry(join(directory, "cert9.db"))) ? authenticate() : create());
  return { add, erase };
}

const explain =
  ({ directory, password }: Pick<Database, "directory"> & Partial<Database>) =>
  (error: Error): never => {
    if (!/SEC_ERROR_BAD_PASSWORD/.test(error.message)) throw error instanceof ProgramFailure ? new Error(`The database ${directory}: ${error.message}`) : error;
    if (password === undefined) throw new Error(`The database ${directory} has a password. Set config.storePasswordRef.`);
    throw new Error(`The password does not open the database ${directory}. Correct what config.storePasswordRef leads to.`);
  };
