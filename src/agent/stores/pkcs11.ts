import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, pathOn } from "../host/host";
import { resolvePassword } from "../host/password";
import { fingerprintOf, toPem } from "../host/pem";
import { ProgramFailure, runProgram } from "../host/program";
import { writeTemp } from "../host/temp-dir";
import type { Store, Target } from "../store";
import type { Transaction } from "../transaction/transaction";
import type { Secret } from "../transaction/undo-step";

const PIN = "CERTITUDE_PIN";
/** Of the fingerprint's hexadecimal digits: as many as the SHA-1 by which others name their objects. */
const ID_DIGITS = 40;

type Token = { module: string; argv: string[]; secret: Secret };
type Certificate = { id: string; pem: string };

/** A token of a PKCS #11 module, by pkcs11-tool: certificates by their label. Keys are made in a token and stay there. */
export const pkcs11Token: Store = {
  async observe(target, { fingerprint }, host) {
    const token = tokenOf(target, host);
    const certificates = (await glance(token, target.alias, host)) ?? (await look(await openToken(target, host), target.alias, host)).certificates;
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
    const { certificates, keyId } = await look(token, alias, transaction.host);
    if (certificates.length > 0 && !transaction.owns(claim))
      throw new Error(
        `The token of ${token.module} has a certificate ${alias} already, and not by this agent. Choose another alias, or delete it with pkcs11-tool.`,
      );
    if (target.materialType !== "trust_anchor" && keyId === undefined)
      throw new Error(`The token of ${token.module} has no private key ${alias}, to which the certificate could belong. Make it there with that label first.`);
    await transaction.claim(claim, fingerprint);
    for (const each of certificates) await erase(token, alias, each, transaction);
    const id = keyId ?? fingerprint.slice(0, ID_DIGITS);
    const undo = { argv: deletion(token, alias, id), secret: token.secret, ignoredError: "not found" };
    await runWithPin(token, addition(token, alias, id, await fileOf(certificate, transaction)), transaction, { undo });
  },

  async remove(target, transaction) {
    const token = await openToken(target, transaction.host);
    const claim = claimOf(token, target.alias);
    const { certificates } = await look(token, target.alias, transaction.host);
    for (const each of certificates) if (transaction.owns(claim, fingerprintOf(each.pem))) await erase(token, target.alias, each, transaction);
    await transaction.disclaim(claim);
  },
};

const claimOf = ({ module }: Token, alias: string) => `${module}#${alias}`;

/** The module's token that the tool takes by itself. */
function tokenOf({ config }: Target, host: Host): Token {
  const module = pathOn(host, config.trustStorePath ?? "", "trustStorePath");
  const argv = ["pkcs11-tool", "--module", module, "--login", "--pin", `env:${PIN}`];
  return { module, argv, secret: { variable: PIN, reference: config.storePasswordRef ?? "" } };
}

/** The one token of the module that is ready for use. */
async function openToken(target: Target, host: Host): Promise<Token> {
  const token = tokenOf(target, host);
  const { module, argv } = token;
  const slots = initializedSlots((await runProgram(host, ["pkcs11-tool", "--module", module, "--list-slots"])).stdout);
  if (slots.length !== 1)
    throw new Error(`${module} has ${slots.length} initialized tokens, and this agent writes where there is one. Name a module with one.`);
  return { ...token, argv: [...argv, "--slot", slots.join("")] };
}

const initializedSlots = (text: string) =>
  text.split(/^(?=Slot )/m).flatMap((slot) => (/token initialized/.test(slot) ? (/^Slot \d+ \((0x[0-9a-f]+)\)/.exec(slot)?.[1] ?? []) : []));

/** The token's objects with the label, of the tool's list. */
const objectsIn = (text: string, alias: string) =>
  text
    .split(/\n(?=\S)/)
    .map((object) => ({
      kind: /^(Certificate|Private Key) Object/.exec(object)?.[1],
      label: /^ +label: +(.*)$/m.exec(object)?.[1],
      id: /^ +ID: +([0-9a-f]+)$/m.exec(object)?.[1] ?? "",
    }))
    .filter(({ label }) => label === alias);

/**
 * Returns the certificate with the label by one run of the tool, which is all that a pass without a change needs; undefined where the module
 * has not one initialized token with one such certificate, so that it must be looked at closely. A wrong PIN is not tried again.
 */
async function glance({ module, argv, secret }: Token, alias: string, host: Host): Promise<Certificate[] | undefined> {
  const environment = { [PIN]: await resolvePassword(host, secret.reference) };
  return readByFile(host, async (file) => {
    const words = ["--list-slots", "--list-objects", "--read-object", "--type", "cert", "--label", alias, "--output-file", file];
    const answer = await runProgram(host, [...argv, ...words], { environment }).catch((error: Error) =>
      isPinFault(error) ? explain(module)(error) : undefined,
    );
    const found = answer && initializedSlots(answer.stdout).length === 1 ? objectsIn(answer.stdout, alias) : [];
    return found.length === 1 && found[0] ? { id: found[0].id } : undefined;
  }).then((certificate) => certificate && [certificate]);
}

/** The certificates with the label, and the id of the private key with it, where there is one. */
async function look({ module, argv, secret }: Token, alias: string, host: Host) {
  const environment = { [PIN]: await resolvePassword(host, secret.reference) };
  const { stdout } = await runProgram(host, [...argv, "--list-objects"], { environment }).catch(explain(module));
  const own = objectsIn(stdout, alias);
  const certificates: Certificate[] = [];
  for (const { id } of own.filter(({ kind }) => kind === "Certificate")) {
    const words = ["--read-object", "--type", "cert", "--label", alias, "--id", id, "--output-file"];
    const found = await readByFile(host, (file) => runProgram(host, [...argv, ...words, file], { environment }).then(() => ({ id })));
    if (found) certificates.push(found);
  }
  return { certificates, keyId: own.find(({ kind }) => kind === "Private Key")?.id };
}

/** The tool writes bytes, so they go by a file. Returns undefined where `write` says that it holds nothing of use. */
async function readByFile(host: Host, write: (file: string) => Promise<{ id: string } | undefined>): Promise<Certificate | undefined> {
  const directory = await mkdtemp(join(host.environment.TMPDIR ?? tmpdir(), "certitude-agent-"));
  try {
    const file = join(directory, "certificate");
    const written = await write(file);
    return written && { ...written, pem: toPem("CERTIFICATE", await readFile(file)) };
  } finally {
    await rm(directory, { recursive: true });
  }
}

const object = ({ argv }: Token, alias: string, id: string, action: string[]) => [...argv, ...action, "--type", "cert", "--label", alias, "--id", id];
const addition = (token: Token, alias: string, id: string, file: string) => object(token, alias, id, ["--write-object", file]);
const deletion = (token: Token, alias: string, id: string) => object(token, alias, id, ["--delete-object"]);

/** A file that stays until the attempt ends, for undoing it too: the tool cannot read from a pipe. */
const fileOf = async (pem: string, transaction: Transaction) => writeTemp(await transaction.tempDirectory(), pem);

async function erase(token: Token, alias: string, { id, pem }: Certificate, transaction: Transaction) {
  const undo = { argv: addition(token, alias, id, await fileOf(pem, transaction)), secret: token.secret };
  await runWithPin(token, deletion(token, alias, id), transaction, { undo });
}

async function runWithPin({ module, secret }: Token, argv: string[], transaction: Transaction, options: Parameters<Transaction["run"]>[1]) {
  const environment = { [PIN]: await resolvePassword(transaction.host, secret.reference) };
  await transaction.run(argv, { ...options, environment }).catch(explain(module));
}

const isPinFault = (error: Error) => error instanceof ProgramFailure && /CKR_PIN_(INCORRECT|LEN_RANGE|INVALID)/.test(error.output.stderr);

const explain =
  (module: string) =>
  (error: Error): never => {
    if (isPinFault(error))
      throw new Error(`The PIN does not open the token of ${module}. Correct what config.storePasswordRef leads to, before the token locks itself.`);
    throw error;
  };
