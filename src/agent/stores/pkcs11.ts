import { type Argv, argvOf, hostWord, serverWord, type Word } from "../host/arguments";
import { resolvePassword } from "../host/password";
import { fingerprintOf } from "../host/pem";
import { writeTemp } from "../host/temp-dir";
import type { Store } from "../store";
import type { Transaction } from "../transaction/transaction";
import { keyInside, noKey } from "./pkcs11-key";
import { type Certificate, explain, listObjects, openToken, PIN, readCertificate, type Token, tokenOf } from "./pkcs11-token";

/** Of the fingerprint's hexadecimal digits: as many as the SHA-1 by which others name their objects. */
const ID_DIGITS = 40;

/** A token of a PKCS #11 module, by pkcs11-tool: certificates by their label. Keys are made in a token and stay there. */
export const pkcs11Token: Store = {
  async observe(target, { fingerprint }, host) {
    const token = tokenOf(target, host);
    const certificates =
      (await readCertificate(token, target.alias, host)) ?? (await listObjects(await openToken(target, host), target.alias, host)).certificates;
    const isThere = certificates.some(({ pem }) => fingerprintOf(pem) === fingerprint);
    const fault = certificates.length === 0 ? `has no certificate ${target.alias}` : `has another certificate as ${target.alias}`;
    return {
      certificates: certificates.map(({ pem }) => pem),
      differences: isThere && certificates.length === 1 ? [] : [`the token of ${token.module} ${fault}`],
    };
  },

  async install(target, { certificate, fingerprint, privateKey }, transaction) {
    if (privateKey !== null)
      throw new Error(
        "A private key is made in the token and never leaves it, so none is imported: let the assignment not include it, and make the key there.",
      );
    const { alias } = target;
    const token = await openToken(target, transaction.host);
    const claim = claimOf(token, alias);
    const { certificates, keyId } = await listObjects(token, alias, transaction.host);
    if (certificates.length > 0 && !transaction.owns(claim))
      throw new Error(
        `The token of ${token.module} has a certificate ${alias} already, and not by this agent. Choose another alias, or delete it with pkcs11-tool.`,
      );
    if (target.materialType !== "trust_anchor" && keyId === undefined) throw noKey(token, alias);
    await transaction.claim(claim, fingerprint);
    for (const each of certificates) await erase(token, alias, each, transaction);
    const id = keyId ?? fingerprint.slice(0, ID_DIGITS);
    const undo = { argv: deletion(token, alias, id), secret: token.secret, ignoredError: "not found" };
    await runWithPin(token, addition(token, alias, id, await fileOf(certificate, transaction)), transaction, { undo });
  },

  keyInside,

  async remove(target, transaction) {
    const token = await openToken(target, transaction.host);
    const claim = claimOf(token, target.alias);
    const { certificates } = await listObjects(token, target.alias, transaction.host);
    for (const each of certificates) if (transaction.owns(claim, fingerprintOf(each.pem))) await erase(token, target.alias, each, transaction);
    await transaction.disclaim(claim);
  },
};

const claimOf = ({ module }: Token, alias: string) => `${module}#${alias}`;

const object = ({ argv }: Token, alias: string, id: string, action: Argv) =>
  argvOf(argv, action, "--type", "cert", "--label", serverWord(alias), "--id", hostWord(id));
const addition = (token: Token, alias: string, id: string, file: Word) => object(token, alias, id, argvOf("--write-object", file));
const deletion = (token: Token, alias: string, id: string) => object(token, alias, id, argvOf("--delete-object"));

/** A file that stays until the attempt ends, for undoing it too: the tool cannot read from a pipe. */
const fileOf = async (pem: string, transaction: Transaction) => writeTemp(await transaction.tempDirectory(), pem);

async function erase(token: Token, alias: string, { id, pem }: Certificate, transaction: Transaction) {
  const undo = { argv: addition(token, alias, id, await fileOf(pem, transaction)), secret: token.secret };
  await runWithPin(token, deletion(token, alias, id), transaction, { undo });
}

async function runWithPin({ module, secret }: Token, argv: Argv, transaction: Transaction, options: Parameters<Transaction["run"]>[1]) {
  const environment = { [PIN]: await resolvePassword(transaction.host, secret.reference) };
  await transaction.run(argv, { ...options, environment }).catch(explain(module));
}
