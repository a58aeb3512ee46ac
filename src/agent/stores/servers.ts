import { join } from "node:path";
import { configRulesOf } from "#modules/fleet/trust-stores/rules/catalogue";
import { argvOf, hostWord, joined, permittedCall, serverWord } from "../host/arguments";
import type { Store, Target } from "../store";
import type { Transaction } from "../transaction/transaction";
import { execute } from "../transaction/undo-step";
import { directoryStore, nameOf } from "./directory";
import type { Layout, Part } from "./layout";

type Server = Pick<Layout, "check" | "dropsReloads" | "needsKey" | "passwordVariable"> & {
  /** The files of a server's certificate and key. */
  parts?: Layout["parts"];
  /** The command that proves the server's configuration before it is reloaded by this reloadCommand. */
  revision?: (reloadCommand: string[]) => readonly string[] | undefined;
  /** Makes the server read its files where the config has no reloadCommand. */
  reload?: (directory: string, target: Target, transaction: Transaction) => Promise<void>;
};

/** The directory from which a server reads its certificate and key, or the anchors of its clients. */
export function serverStore({ parts = certificateAndKey, revision, reload, ...rest }: Server): Store {
  return directoryStore({
    ...rest,
    mustExist: true,
    takesOver: true,
    hasMoved: true, // an anchor without an alias had the name of the server's own certificate
    parts: (target, host) => (isAnchor(target) ? [{ name: anchorName(target), holds: "certificate" }] : parts(target, host)),
    async refresh(directory, target, transaction) {
      const { reloadCommand } = target.config;
      const command = reloadCommand && revision?.(reloadCommand);
      if (command) await transaction.run(permittedCall(command));
      if (!reloadCommand) await reload?.(directory, target, transaction);
    },
  });
}

const isAnchor = ({ materialType }: Target) => materialType === "trust_anchor";
/** Never the name that a server's own certificate has by default: the server would present the anchor. */
function anchorName(target: Target) {
  const { alias, certFileName } = target.config;
  const isGiven = certFileName !== undefined && certFileName !== configRulesOf(target.storeType).defaults.certFileName;
  return alias === undefined && isGiven ? certFileName : `${target.alias}.crt`;
}
const certificateAndKey = (target: Target): Part[] => [
  { name: nameOf(target, "certFileName"), holds: "chain" },
  { name: nameOf(target, "keyFileName"), holds: "key" },
];

/** The password of the config's storePasswordRef, in the variable from which the server's client takes it. */
export const secretIn = (variable: string, { config: { storePasswordRef: reference } }: Target) => (reference ? { variable, reference } : undefined);

export const nginx = serverStore({
  /** The same nginx with the same options, but with `-t` in the place of `-s reload`. */
  revision(reloadCommand) {
    const at = reloadCommand.findIndex((word, index) => word === "-s" && reloadCommand[index + 1] === "reload");
    return at < 0 ? undefined : reloadCommand.toSpliced(at, 2, "-t");
  },
});

export const apache = serverStore({
  /** The same program with the same options, but with a check in the place of `graceful`. */
  revision(reloadCommand) {
    const at = reloadCommand.lastIndexOf("graceful");
    if (at < 0) return;
    return reloadCommand[at - 1] === "-k" ? reloadCommand.toSpliced(at - 1, 2, "-t") : reloadCommand.toSpliced(at, 1, "configtest");
  },
});

export const haproxy = serverStore({
  dropsReloads: true,
  needsKey: true,
  parts: (target) => (target.config.keyFileName ? certificateAndKey(target) : [{ name: nameOf(target, "certFileName"), holds: "chain and key" }]),
  check(_directory, target) {
    const expected = `${nameOf(target, "certFileName")}.key`;
    if (!isAnchor(target) && target.config.keyFileName && target.config.keyFileName !== expected)
      throw new Error(`config.keyFileName must be ${expected}, where HAProxy looks for the key. Leave it out to have certificate and key in one file.`);
  },
  revision: (reloadCommand) => (reloadCommand.join(" ") === "systemctl reload haproxy" ? ["haproxy", "-c", "-f", "/etc/haproxy/haproxy.cfg"] : undefined),
});

const REDIS_PASSWORD = "REDISCLI_AUTH";
const ANCHORS = "tls-ca-cert-file";

export const redis = serverStore({
  passwordVariable: REDIS_PASSWORD,
  /**
   * Redis reads its files again when it is given their names, though they are the same; other settings than the certificate's
   * stay as they are.
   */
  async reload(directory, target, transaction) {
    const { dbUser } = target.config;
    const secret = secretIn(REDIS_PASSWORD, target);
    const config = argvOf("redis-cli", "-e", ...(dbUser ? ["--user" as const, serverWord(dbUser)] : []), "CONFIG");
    if (!isAnchor(target)) {
      const [certificate = "", key = ""] = certificateAndKey(target).map(({ name }) => join(directory, name));
      return transaction.reload(argvOf(config, "SET", "tls-cert-file", serverWord(certificate), "tls-key-file", serverWord(key)), { secret });
    }
    const { stdout } = await execute(transaction.host, { argv: argvOf(config, "GET", ANCHORS), ...(secret && { secret }) });
    const [, present = ""] = stdout.split("\n");
    await transaction.reload(argvOf(config, "SET", ANCHORS, hostWord(present)), { secret });
  },
});

const MARIADB_PASSWORD = "MYSQL_PWD";

export const mariadb = serverStore({
  passwordVariable: MARIADB_PASSWORD,
  async reload(_directory, target, transaction) {
    const argv = argvOf("mariadb", joined("--user=", serverWord(target.config.dbUser ?? "")), "--execute=FLUSH SSL");
    await transaction.reload(argv, { secret: secretIn(MARIADB_PASSWORD, target) });
  },
});
